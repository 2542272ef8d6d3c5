-- Where the dead jobs of soak_started go; it differs in the order of its columns and has one of its own.
CREATE TABLE soak_dead (
    buried_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL,
    status text NOT NULL,
    poison boolean NOT NULL,
    id bigint PRIMARY KEY,
    priority integer,
    run_after timestamptz,
    started_at timestamptz,
    created_at timestamptz
)
