-- The size of all indexes of the job table.
SELECT pg_indexes_size('demo_queue_jobs')
