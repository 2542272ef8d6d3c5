-- Adds what a busy queue holds beside its history: %(pending)s pending jobs, two thirds of them due, in about the order in
-- which they were inserted; %(running)s running ones with live leases; %(failed)s dead letters.
INSERT INTO demo_queue_jobs
    (status, available_at, lease_until, claimed_by, claim_version, attempts, created_at)
SELECT 'pending', now() - make_interval(secs => 600 - 900.0 * n / %(pending)s + 5 * random()),
       NULL::timestamptz, NULL, 0, 0, now()
FROM generate_series(1, %(pending)s::bigint) AS n
UNION ALL
SELECT 'running', now() - interval '1 minute', now() + interval '1 hour', 'worker-1', 1, 1, now()
FROM generate_series(1, %(running)s::bigint)
UNION ALL
SELECT 'failed', now() - interval '1 day', NULL, 'worker-1', 5, 5, now() - interval '2 days'
FROM generate_series(1, %(failed)s::bigint)
