-- Adds %(rows)s pending jobs that were due an hour ago and later.
INSERT INTO demo_queue_jobs (available_at)
SELECT now() - make_interval(secs => 3600.0 * n / %(rows)s)
FROM generate_series(1, %(rows)s::bigint) AS n
