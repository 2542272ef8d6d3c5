-- Adds %(rows)s running jobs whose leases end %(from_seconds)s to %(to_seconds)s from now, in no order.
-- Returns the first and the last id.
WITH inserted AS (
    INSERT INTO demo_queue_jobs
        (status, available_at, lease_until, claimed_by, claim_version, attempts, created_at)
    SELECT 'running', now() - interval '1 hour',
           now() + make_interval(secs => %(from_seconds)s + random() * (%(to_seconds)s - %(from_seconds)s)),
           'worker-' || n %% 8, 1, 1 + n %% 3, now() - interval '1 hour'
    FROM generate_series(1, %(rows)s::bigint) AS n
    RETURNING id
)
SELECT min(id), max(id) FROM inserted
