-- How many jobs are not finished.
SELECT count(*) FROM soak_started WHERE status IN ('pending', 'running')
