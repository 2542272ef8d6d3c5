-- Gives a job back that failed, to be tried again soon. Parameters: job, version (the claim's attempt).
-- Returns how many rows changed (0: the claim is somebody else's by now), no lease, and the time after that in
-- microseconds of the epoch. The subquery is over before the clock is read.
WITH changed AS (
    UPDATE soak_started
    SET status = 'pending', started_at = NULL, run_after = now() + interval '200 ms'
    WHERE id = %(job)s AND attempts = %(version)s AND status = 'running'
    RETURNING id
)
SELECT c.jobs, NULL, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM (SELECT count(*) AS jobs FROM changed OFFSET 0) AS c
