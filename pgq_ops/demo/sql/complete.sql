-- Marks a job done, fenced by the claim's version. No row: the claim is somebody else's by now.
-- Parameters: job, version (of the claim).
UPDATE demo_queue_jobs
SET status = 'done', lease_until = NULL
WHERE id = %(job)s AND claim_version = %(version)s AND status = 'running'
