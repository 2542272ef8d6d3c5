-- What became of the jobs: those noted when enqueued, and of these the done, the dead, the open, and those that
-- are not in the table at all; and rows in the table that nobody enqueued.
SELECT pg_catalog.count(noted.job),
       pg_catalog.count(noted.job) FILTER (WHERE jobs.status = 'done'),
       pg_catalog.count(noted.job) FILTER (WHERE jobs.status = 'failed'),
       pg_catalog.count(noted.job) FILTER (WHERE jobs.status IN ('pending', 'running')),
       pg_catalog.count(noted.job) FILTER (WHERE jobs.id IS NULL),
       pg_catalog.count(jobs.id) FILTER (WHERE noted.job IS NULL)
FROM (SELECT job FROM demo_record WHERE event = 'enqueued') AS noted
FULL JOIN demo_queue_jobs AS jobs ON jobs.id = noted.job
