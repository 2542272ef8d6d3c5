-- Sessions of others that are idle within a transaction and hold a lock on a table (%(oid)s) or a part of it: the pid,
-- application_name, user, and for how many seconds they have been idle. The longest first.
-- Further rows without a pid: one where this role may not see what other sessions do; one with the number of those that
-- hold locks there and do not tell what they do (track_activities is off), as seconds.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid
)
SELECT a.pid, a.application_name, a.usename::text, extract(epoch FROM pg_catalog.clock_timestamp() - a.state_change)::float8
FROM pg_stat_activity AS a
WHERE a.datname = pg_catalog.current_database() AND a.state LIKE 'idle in transaction%%' AND a.pid <> pg_catalog.pg_backend_pid()
  AND EXISTS (SELECT FROM pg_locks AS l JOIN tree ON tree.oid = l.relation
              WHERE l.pid = a.pid AND l.granted AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))
UNION ALL
SELECT NULL, 'hidden', NULL, pg_catalog.count(*)::float8
FROM pg_stat_activity AS a
WHERE a.datname = pg_catalog.current_database() AND a.state = 'disabled' AND a.pid <> pg_catalog.pg_backend_pid()
  AND EXISTS (SELECT FROM pg_locks AS l JOIN tree ON tree.oid = l.relation WHERE l.pid = a.pid AND l.granted)
HAVING pg_catalog.count(*) > 0
UNION ALL
SELECT NULL, 'unseen', NULL, NULL WHERE NOT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')
ORDER BY 4 DESC NULLS LAST
