-- The dead jobs, and those that kill every worker and so must become dead: id, whether it is such a poison job,
-- its state, its attempts in the table, its claims in the record.
SELECT id,
       payload @> '{{"poison": true}}',
       status,
       attempts,
       (SELECT pg_catalog.count(*) FROM demo_record WHERE event = 'claimed' AND job = demo_queue_jobs.id)
FROM demo_queue_jobs
WHERE status = 'failed' OR payload @> '{{"poison": true}}'
ORDER BY id
