-- Which of the jobs %(ids)s are pending, and the time in epoch seconds.
SELECT id, extract(epoch FROM clock_timestamp())::float8
FROM demo_queue_jobs WHERE id = ANY (%(ids)s::bigint[]) AND status = 'pending'
