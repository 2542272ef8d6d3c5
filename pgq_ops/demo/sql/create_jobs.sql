-- The job table: a row carries its lease, and a version that each claim raises. Preset `lease` describes it.
CREATE TABLE demo_queue_jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payload jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'failed')),
    available_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    lease_until timestamptz,
    claimed_by text,
    claim_version bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT pg_catalog.now()
)
