-- What finding the next job costs now; the pages are at the top of the plan.
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT FROM demo_queue_jobs WHERE status = 'pending' AND available_at <= now() ORDER BY available_at, id LIMIT 1
