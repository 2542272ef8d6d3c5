-- Jobs by state: scheduled, ready, running, done, dead.
SELECT pg_catalog.count(*) FILTER (WHERE status = 'pending' AND available_at > pg_catalog.now()),
       pg_catalog.count(*) FILTER (WHERE status = 'pending' AND available_at <= pg_catalog.now()),
       pg_catalog.count(*) FILTER (WHERE status = 'running'),
       pg_catalog.count(*) FILTER (WHERE status = 'done'),
       pg_catalog.count(*) FILTER (WHERE status = 'failed')
FROM demo_queue_jobs
