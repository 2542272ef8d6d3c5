-- Forget up to %(batch)s findings that were not there any more %(keep_seconds)s seconds ago, with their changes. One
-- that nobody closed counts from when it was seen last.
DELETE FROM pgq_ops.finding
WHERE id IN (SELECT f.id FROM pgq_ops.finding AS f
             WHERE COALESCE(f.closed_at, f.last_seen_at) < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s)
             ORDER BY f.id LIMIT %(batch)s)
