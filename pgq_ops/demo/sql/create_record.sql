-- What everybody says about the jobs, kept outside the job table and only added to: the demo's summary
-- is checked against it. `lease_until` is the lease that was over when a job was taken back.
CREATE TABLE demo_record (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    event text NOT NULL,
    worker text,
    job bigint,
    version bigint,
    lease_until timestamptz
)
