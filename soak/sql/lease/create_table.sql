-- A job table whose rows carry the end of their lease; preset `lease` describes it. A poison job kills whoever runs it.
CREATE TABLE soak_lease (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    poison boolean NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'failed')),
    available_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    claimed_by text,
    claim_version bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
)
