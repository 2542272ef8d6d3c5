-- Takes the next due job. Parameters: worker (its name), lease_seconds.
-- Returns id, version, poison, the lease's end and the time, both in microseconds of the epoch; no row: nothing is due.
UPDATE soak_lease
SET status = 'running', claimed_by = %(worker)s, claim_version = claim_version + 1, attempts = attempts + 1,
    lease_until = now() + make_interval(secs => %(lease_seconds)s)
WHERE id = (
    SELECT id FROM soak_lease WHERE status = 'pending' AND available_at <= now()
    ORDER BY available_at, id FOR UPDATE SKIP LOCKED LIMIT 1
)
RETURNING id, claim_version, poison,
          (extract(epoch FROM lease_until) * 1000000)::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
