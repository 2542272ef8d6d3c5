-- Forget up to %(batch)s stretches of watching that ended more than %(keep_seconds)s seconds ago.
DELETE FROM pgq_ops.watch
WHERE id IN (SELECT w.id FROM pgq_ops.watch AS w
             WHERE w.last_at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s) ORDER BY w.id LIMIT %(batch)s)
