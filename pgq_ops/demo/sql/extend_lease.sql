-- Heartbeat: moves the lease's end forward. No row: the claim is somebody else's by now.
-- Parameters: job, version (of the claim), lease_seconds.
UPDATE demo_queue_jobs
SET lease_until = pg_catalog.now() + pg_catalog.make_interval(secs => %(lease_seconds)s)
WHERE id = %(job)s AND claim_version = %(version)s AND status = 'running'
