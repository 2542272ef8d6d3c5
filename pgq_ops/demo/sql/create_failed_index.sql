-- Serves looks at the dead letters.
CREATE INDEX demo_queue_jobs_failed ON demo_queue_jobs (id) WHERE status = 'failed'
