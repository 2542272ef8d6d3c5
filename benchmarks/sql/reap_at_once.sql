-- The article's way to take back expired leases: all of them in one statement.
UPDATE demo_queue_jobs
SET status = 'pending', available_at = now(), lease_until = NULL, claimed_by = NULL
WHERE status = 'running' AND lease_until < now()
