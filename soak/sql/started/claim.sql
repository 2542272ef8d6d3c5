-- Takes the next due job. Parameters: worker (its name, not kept), lease_seconds (from the start).
-- Returns id, version (the attempt), poison, the lease's end and the time, both in microseconds of the epoch; no row:
-- nothing is due.
UPDATE soak_started
SET status = 'running', started_at = now(), attempts = attempts + 1
WHERE id = (
    SELECT id FROM soak_started WHERE status = 'pending' AND run_after <= now()
    ORDER BY priority DESC, run_after FOR UPDATE SKIP LOCKED LIMIT 1
)
RETURNING id, attempts, poison,
          (extract(epoch FROM started_at) * 1000000 + %(lease_seconds)s * 1000000)::bigint,
          (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
