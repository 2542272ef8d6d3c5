-- When an agent of each mode last looked at a job table (%(table_oid)s): the mode, the seconds since by the database's
-- clock, and which process it is. The one that looked last comes first.
SELECT w.mode, extract(epoch FROM pg_catalog.now() - w.last_at)::float8, w.host, w.pid
FROM pgq_ops.watch AS w
WHERE w.table_oid = %(table_oid)s::oid
  AND w.last_at = (SELECT pg_catalog.max(l.last_at) FROM pgq_ops.watch AS l
                   WHERE l.table_oid = w.table_oid AND l.mode = w.mode)
ORDER BY w.last_at DESC
