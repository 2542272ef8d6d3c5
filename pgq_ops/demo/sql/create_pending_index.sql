-- Serves the claim: its WHERE and its ORDER BY.
CREATE INDEX demo_queue_jobs_pending ON demo_queue_jobs (available_at, id) WHERE status = 'pending'
