-- Remember that the open finding %(id)s is gone since %(ago)s seconds.
UPDATE pgq_ops.finding AS f
SET closed_at = GREATEST(f.opened_at, pg_catalog.now() - pg_catalog.make_interval(secs => %(ago)s))
WHERE f.id = %(id)s AND f.closed_at IS NULL
