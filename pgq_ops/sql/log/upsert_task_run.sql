-- Remember a run of %(task)s on the table %(table_oid)s, called %(job_table)s in the config, that has just ended.
-- %(outcome)s is ok, nothing, busy or failed; the first two are a success. %(duration_seconds)s in seconds.
-- %(host)s and %(pid)s say which process ran it.
INSERT INTO pgq_ops.task AS t (table_oid, task, job_table, last_run_at, last_success_at, outcome, duration_seconds,
                               message, host, pid)
VALUES (%(table_oid)s, %(task)s, %(job_table)s, pg_catalog.now(),
        CASE WHEN %(outcome)s::text IN ('ok', 'nothing') THEN pg_catalog.now() END,
        %(outcome)s, %(duration_seconds)s, %(message)s, %(host)s, %(pid)s)
ON CONFLICT (table_oid, task) DO UPDATE
SET job_table = excluded.job_table,
    last_run_at = excluded.last_run_at,
    last_success_at = COALESCE(excluded.last_success_at, t.last_success_at),
    outcome = excluded.outcome,
    duration_seconds = excluded.duration_seconds,
    message = excluded.message,
    host = excluded.host,
    pid = excluded.pid
