-- Every claim that its worker did not complete and no longer works on: job, version, worker; what became of the
-- worker (hung, killed, poisoned; NULL: it lives); requeued, buried or NULL for not taken back; the seconds
-- from the end of the lease until then (NULL: not taken back); whether the worker tried to complete it after all.
SELECT claimed.job,
       claimed.version,
       claimed.worker,
       COALESCE(
           (SELECT 'hung' FROM demo_record AS hung
            WHERE hung.event = 'hung' AND hung.job = claimed.job AND hung.version = claimed.version LIMIT 1),
           (SELECT ended.event FROM demo_record AS ended
            WHERE ended.event IN ('killed', 'poisoned') AND ended.worker = claimed.worker LIMIT 1)
       ),
       taken_back.event,
       extract(epoch FROM taken_back.at - taken_back.lease_until)::double precision,
       EXISTS (SELECT FROM demo_record AS late
               WHERE late.event = 'refused' AND late.job = claimed.job AND late.version = claimed.version)
FROM demo_record AS claimed
LEFT JOIN demo_record AS taken_back
    ON taken_back.job = claimed.job AND taken_back.version = claimed.version
    AND taken_back.event IN ('requeued', 'buried')
WHERE claimed.event = 'claimed'
  AND NOT EXISTS (
      SELECT FROM demo_record AS completed
      WHERE completed.event = 'completed' AND completed.job = claimed.job AND completed.version = claimed.version
  )
  AND NOT EXISTS (
      SELECT FROM demo_queue_jobs AS jobs
      WHERE jobs.id = claimed.job AND jobs.claim_version = claimed.version
        AND jobs.status = 'running' AND jobs.lease_until > pg_catalog.now()
  )
ORDER BY claimed.seq
