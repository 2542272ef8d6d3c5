-- Jobs by state: scheduled, ready, running, done, dead.
SELECT count(*) FILTER (WHERE status = 'pending' AND available_at > now()),
       count(*) FILTER (WHERE status = 'pending' AND available_at <= now()),
       count(*) FILTER (WHERE status = 'running'),
       count(*) FILTER (WHERE status = 'done'),
       count(*) FILTER (WHERE status = 'failed')
FROM demo_queue_jobs
