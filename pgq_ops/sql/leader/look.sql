-- What this session holds, and of which server: whether it is a standby, how long it has been up (seconds), and the
-- bigint keys of the session's advisory locks. pg_locks shows a bigint key as two halves.
SELECT pg_catalog.pg_is_in_recovery() AS in_recovery,
       extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.pg_postmaster_start_time())::float8 AS uptime_seconds,
       ARRAY(SELECT (l.classid::bigint << 32) | l.objid::bigint
             FROM pg_locks AS l
             WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = pg_catalog.pg_backend_pid()
               AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())) AS keys
