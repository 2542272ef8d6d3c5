-- How many workers autovacuum may have, and how many are at work; fewer are seen without pg_monitor.
SELECT pg_catalog.current_setting('autovacuum_max_workers')::int, pg_catalog.count(*)::int
FROM pg_catalog.pg_stat_get_activity(NULL) AS a
WHERE a.backend_type = 'autovacuum worker'
