-- As reap_at_once, but writing what the reaper writes: the backoff's delays, so that the jobs do not all come back at the
-- same moment. Each lands somewhere else in the claim's index, where a single moment always lands at its end.
UPDATE demo_queue_jobs
SET status = 'pending', lease_until = NULL, claimed_by = NULL,
    available_at = now() + make_interval(secs => least(3600, 10 * power(2, attempts)) * (1 - 0.1 * random()))
WHERE status = 'running' AND lease_until < now()
