-- For how many seconds at least the database's counters have counted: since they were last set to zero, by hand or by a
-- crash, which sets those of the whole server back. NULL where it is not known.
SELECT extract(epoch FROM pg_catalog.now() - greatest(d.stats_reset, b.stats_reset))::float8
FROM pg_stat_database AS d CROSS JOIN pg_stat_bgwriter AS b
WHERE d.datname = pg_catalog.current_database()
