-- What became of the jobs: those noted when enqueued, and of these the done, the dead, the open, and those that
-- are not in the table at all; and rows in the table that nobody enqueued.
SELECT count(noted.job),
       count(noted.job) FILTER (WHERE jobs.status = 'done'),
       count(noted.job) FILTER (WHERE jobs.status = 'failed'),
       count(noted.job) FILTER (WHERE jobs.status IN ('pending', 'running')),
       count(noted.job) FILTER (WHERE jobs.id IS NULL),
       count(jobs.id) FILTER (WHERE noted.job IS NULL)
FROM (SELECT job FROM demo_record WHERE event = 'enqueued') AS noted
FULL JOIN demo_queue_jobs AS jobs ON jobs.id = noted.job
