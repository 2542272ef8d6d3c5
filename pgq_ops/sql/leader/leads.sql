-- Whether a session (%(pid)s) holds an advisory lock (%(key)s, bigint), here, where nobody leads on a standby.
SELECT NOT pg_catalog.pg_is_in_recovery() AND EXISTS (
    SELECT FROM pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = %(pid)s
      AND (l.classid::bigint << 32) | l.objid::bigint = %(key)s::bigint
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
)
