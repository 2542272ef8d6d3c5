-- The article's way to look at a queue.
SELECT status, count(*) FROM demo_queue_jobs GROUP BY status
