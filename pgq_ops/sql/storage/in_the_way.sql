-- Who holds, or waits for, a lock on one of the tables %(oids)s (oid array) that keeps its parameters from being changed:
-- process (NULL: a prepared transaction), and whether it is a vacuum. Waits for no lock.
SELECT l.pid, EXISTS (SELECT FROM pg_catalog.pg_stat_get_progress_info('VACUUM') AS p WHERE p.pid = l.pid)
FROM pg_locks AS l
WHERE l.locktype = 'relation' AND l.relation = ANY (%(oids)s::oid[])
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
  AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
  AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
ORDER BY 2 DESC, 1
LIMIT 1
