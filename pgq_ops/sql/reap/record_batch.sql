-- A part of a batch: writes what the batch did to the reap log, in the same statement.
-- Parameters: %(table_oid)s, %(job_table)s (its name in the config). The log's attempt is an integer, a job's may be wider.
-- IS TRUE keeps the planner from making a join of it: see report_batch.
INSERT INTO pgq_ops.reap_log (table_oid, job_table, job, outcome, queue, owner, attempt)
SELECT %(table_oid)s, %(job_table)s, {taken_key},
       CASE WHEN taken.pgq_ops_bury THEN 'dead_lettered' ELSE 'requeued' END,
       taken.pgq_ops_queue, taken.pgq_ops_owner,
       least(greatest(taken.pgq_ops_attempt, -2147483648), 2147483647)::integer
FROM taken
WHERE (({taken_columns}) IN (SELECT {written_columns} FROM written)) IS TRUE
