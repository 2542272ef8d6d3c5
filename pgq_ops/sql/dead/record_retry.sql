-- A part of a batch: writes what was retried to the log, in the same statement.
-- Parameters: %(table_oid)s, %(job_table)s (its name in the config). IS TRUE keeps the planner from making a join of it.
INSERT INTO pgq_ops.reap_log (table_oid, job_table, job, outcome, queue, owner, attempt)
SELECT %(table_oid)s, %(job_table)s, taken.pgq_ops_job, 'retried', taken.pgq_ops_queue, session_user::text,
       taken.pgq_ops_attempts
FROM taken
WHERE (taken.pgq_ops_key IN (SELECT changed.pgq_ops_key FROM changed)) IS TRUE
