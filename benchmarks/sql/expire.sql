-- Gives the jobs from %(first)s to %(last)s back to workers whose leases ran out in the last hour: roughly in the order
-- in which the rows were written, as it is where each heartbeat writes both, but off by up to half a minute.
UPDATE demo_queue_jobs
SET status = 'running', claimed_by = 'worker-' || id %% 8, claim_version = 1, attempts = 1 + id %% 3,
    available_at = now() - interval '1 hour',
    lease_until = now() - make_interval(secs => 10 + 30 * random() + 3600.0 * (%(last)s - id) / (%(last)s - %(first)s + 1))
WHERE id BETWEEN %(first)s AND %(last)s
