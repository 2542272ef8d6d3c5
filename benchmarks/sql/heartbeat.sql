-- A worker's heartbeat that comes late: its lease may have expired, its job may have been taken back.
UPDATE demo_queue_jobs
SET lease_until = now() + interval '5 minutes'
WHERE id = %(job)s AND claim_version = 1 AND status = 'running'
