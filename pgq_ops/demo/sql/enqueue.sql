-- Adds jobs and notes their ids. Parameters: payloads (jsonb texts), delays_seconds (how long each waits first).
WITH enqueued AS (
    INSERT INTO demo_queue_jobs (payload, available_at)
    SELECT job.payload::jsonb, pg_catalog.now() + pg_catalog.make_interval(secs => job.delay_seconds)
    FROM unnest(%(payloads)s::text[], %(delays_seconds)s::double precision[]) AS job(payload, delay_seconds)
    RETURNING id
)
INSERT INTO demo_record (event, job) SELECT 'enqueued', id FROM enqueued
