-- The jobs that workers hold now, with the seconds until their lease ends (negative: it is over).
SELECT id, claim_version, claimed_by, extract(epoch FROM lease_until - clock_timestamp())::double precision
FROM demo_queue_jobs
WHERE status = 'running'
ORDER BY id
