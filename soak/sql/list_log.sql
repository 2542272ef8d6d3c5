-- The reap log of one job table (%(job_table)s, its name in the config): id, job, attempt, outcome, and the moment in
-- microseconds of the epoch.
SELECT id, job::bigint, attempt, outcome, (extract(epoch FROM at) * 1000000)::bigint
FROM pgq_ops.reap_log WHERE job_table = %(job_table)s ORDER BY id
