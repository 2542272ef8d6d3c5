-- A job table that only notes when a job was started; preset `started-at` describes it. A poison job kills whoever runs it.
CREATE TABLE soak_started (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    poison boolean NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'dead')),
    priority integer NOT NULL DEFAULT 0,
    run_after timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
)
