-- Adds %(rows)s finished jobs, one each tenth of a second of the past.
INSERT INTO demo_queue_jobs (status, available_at, claimed_by, claim_version, attempts, created_at)
SELECT 'done', moment, 'worker-' || n %% 8, 1, 1, moment
FROM generate_series(1, %(rows)s::bigint) AS n,
     LATERAL (SELECT now() - make_interval(secs => (%(rows)s::bigint - n) * 0.1) AS moment) AS m
