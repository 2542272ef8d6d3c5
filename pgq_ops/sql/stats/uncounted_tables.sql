-- How many pages the files of tables (%(oids)s) have now, and whether they may be loaded at this moment: somebody may be
-- writing there, or nothing says that counters were ever lost, as in a crash (then all of them are younger than the
-- server's start; so they are since its first one) or a reset. NULL pages: somebody holds the table's strongest lock, or
-- waits for it, and the size is not to be had without waiting.
SELECT w.oid::bigint,
       CASE WHEN NOT EXISTS (
           SELECT FROM pg_locks AS l
           WHERE l.relation = w.oid AND l.mode = 'AccessExclusiveLock' AND l.locktype = 'relation'
             AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
       ) THEN pg_catalog.pg_relation_size(w.oid::regclass) / pg_catalog.current_setting('block_size')::bigint END,
       EXISTS (
           SELECT FROM pg_locks AS l
           WHERE l.relation = w.oid AND l.mode = 'RowExclusiveLock' AND l.locktype = 'relation'
             AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
       ) OR NOT (
           COALESCE(pg_catalog.pg_stat_get_bgwriter_stat_reset_time() >= pg_catalog.pg_postmaster_start_time(), false)
           OR EXISTS (SELECT FROM pg_database AS d WHERE d.datname = pg_catalog.current_database()
                      AND pg_catalog.pg_stat_get_db_stat_reset_time(d.oid) IS NOT NULL)
       )
FROM pg_catalog.unnest(%(oids)s::oid[]) AS w(oid)
