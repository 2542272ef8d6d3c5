-- How many jobs are not finished.
SELECT count(*) FROM soak_lease WHERE status IN ('pending', 'running')
