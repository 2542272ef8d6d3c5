-- Jobs whose completions are not as they must be: more than one, one under a claim that had been taken back, a done
-- row without the completion of just its version, or a claim version that two workers were given. With what is wrong.
SELECT job, 'completed ' || pg_catalog.count(*) || ' times'
FROM demo_record WHERE event = 'completed' GROUP BY job HAVING pg_catalog.count(*) > 1
UNION ALL
SELECT completed.job, 'completed under version ' || completed.version || ', which had been taken back'
FROM demo_record AS completed
JOIN demo_record AS taken_back USING (job, version)
WHERE completed.event = 'completed' AND taken_back.event IN ('requeued', 'buried')
UNION ALL
SELECT id, 'done under version ' || claim_version || ', which nobody completed'
FROM demo_queue_jobs
WHERE status = 'done' AND NOT EXISTS (
    SELECT FROM demo_record
    WHERE event = 'completed' AND job = demo_queue_jobs.id AND version = demo_queue_jobs.claim_version
)
UNION ALL
SELECT job, 'version ' || version || ' claimed ' || pg_catalog.count(*) || ' times'
FROM demo_record WHERE event = 'claimed' GROUP BY job, version HAVING pg_catalog.count(*) > 1
ORDER BY 1
