-- Serves the reaper. Not on lease_until: then no heartbeat could be a HOT update.
CREATE INDEX demo_queue_jobs_running ON demo_queue_jobs (id) WHERE status = 'running'
