-- Writes what a batch did to the reap log, in the batch's own transaction; the parameters are parallel arrays.
INSERT INTO pgq_ops.reap_log (table_oid, job_table, job, outcome, queue, owner, attempt)
SELECT %(table_oid)s, %(job_table)s, r.job, r.outcome, r.queue, r.owner, r.attempt
FROM unnest(%(jobs)s::text[], %(outcomes)s::text[], %(queues)s::text[], %(owners)s::text[], %(attempts)s::bigint[])
     AS r(job, outcome, queue, owner, attempt)
