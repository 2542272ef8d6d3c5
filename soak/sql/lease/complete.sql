-- Marks a job done. Parameters: job, version (of the claim).
-- Returns how many rows changed (0: the claim is somebody else's by now), the lease's end, and the time after that, both
-- in microseconds of the epoch. The subquery is over before the clock is read.
WITH changed AS (
    UPDATE soak_lease
    SET status = 'done', lease_until = NULL
    WHERE id = %(job)s AND claim_version = %(version)s AND status = 'running'
    RETURNING lease_until
)
SELECT c.jobs, (extract(epoch FROM c.lease_until) * 1000000)::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM (SELECT count(*) AS jobs, max(lease_until) AS lease_until FROM changed OFFSET 0) AS c
