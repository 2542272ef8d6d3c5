-- The vacuums that run in this database: process, table (or its TOAST table), number of the phase, pages scanned,
-- pages in all, passes over the indexes. Of another's vacuum a role without pg_monitor sees the process alone.
SELECT p.pid, p.relid::bigint, p.param1::int, p.param3::bigint, p.param2::bigint, p.param5::int
FROM pg_catalog.pg_stat_get_progress_info('VACUUM') AS p
WHERE p.datid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
