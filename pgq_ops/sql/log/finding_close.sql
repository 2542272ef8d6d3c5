-- Remember that the open finding %(id)s is gone since %(ago)s seconds.
UPDATE pgq_ops.finding AS f
SET closed_at = GREATEST(f.opened_at, now() - make_interval(secs => %(ago)s))
WHERE f.id = %(id)s AND f.closed_at IS NULL
