-- The last run of each task of a job table (%(table_oid)s), with the seconds since, by the database's clock.
SELECT r.task, extract(epoch FROM pg_catalog.now() - r.last_run_at)::float8,
       extract(epoch FROM pg_catalog.now() - r.last_success_at)::float8,
       pg_catalog.to_char(r.last_run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       r.outcome, r.duration_seconds, r.message, r.host, r.pid
FROM pgq_ops.task AS r
WHERE r.table_oid = %(table_oid)s::oid
ORDER BY r.task
