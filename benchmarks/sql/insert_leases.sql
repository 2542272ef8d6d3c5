-- Adds %(rows)s running jobs whose workers are gone, with leases that end at random moments between
-- %(from_seconds)s and %(to_seconds)s from now. Returns each id and the end in epoch seconds.
INSERT INTO demo_queue_jobs (status, available_at, lease_until, claimed_by, claim_version, attempts)
SELECT 'running', now(),
       now() + make_interval(secs => %(from_seconds)s + random() * (%(to_seconds)s - %(from_seconds)s)), 'gone', 1, 1
FROM generate_series(1, %(rows)s::bigint)
RETURNING id, extract(epoch FROM lease_until)::float8
