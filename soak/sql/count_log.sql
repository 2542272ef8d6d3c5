-- How many jobs were taken back, by job table and outcome.
SELECT job_table, outcome, count(*) FROM pgq_ops.reap_log GROUP BY 1, 2
