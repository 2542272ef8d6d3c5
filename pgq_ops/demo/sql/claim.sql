-- Takes the next due job: one statement chooses, locks and marks it, and steps over rows that others hold.
-- Parameters: worker (its name), lease_seconds. Returns no row where nothing is due.
UPDATE demo_queue_jobs
SET status = 'running',
    claimed_by = %(worker)s,
    claim_version = claim_version + 1,
    attempts = attempts + 1,
    lease_until = pg_catalog.now() + pg_catalog.make_interval(secs => %(lease_seconds)s)
WHERE id = (
    SELECT id
    FROM demo_queue_jobs
    WHERE status = 'pending' AND available_at <= pg_catalog.now()
    ORDER BY available_at, id
    FOR UPDATE SKIP LOCKED
    LIMIT 1
)
RETURNING id, claim_version, payload
