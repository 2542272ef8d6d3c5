-- The jobs that workers hold now: id, version, worker, the seconds until the lease ends (negative: it is over),
-- and whether it is a poison job.
SELECT id,
       claim_version,
       claimed_by,
       extract(epoch FROM lease_until - pg_catalog.clock_timestamp())::double precision,
       payload @> '{{"poison": true}}'
FROM demo_queue_jobs
WHERE status = 'running'
ORDER BY id
