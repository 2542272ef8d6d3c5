-- Version 1: the last run of each task, and every job that was reaped.
CREATE TABLE pgq_ops.task (
    table_oid oid NOT NULL,
    task text NOT NULL,
    job_table text NOT NULL,
    last_run_at timestamptz NOT NULL,
    last_success_at timestamptz,
    outcome text NOT NULL CHECK (outcome IN ('ok', 'nothing', 'busy', 'failed')),
    duration_seconds double precision NOT NULL,
    message text NOT NULL DEFAULT '',
    host text NOT NULL,
    pid integer NOT NULL,
    PRIMARY KEY (table_oid, task)
);
COMMENT ON TABLE pgq_ops.task IS 'The last run of each task of each job table';

CREATE TABLE pgq_ops.reap_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    table_oid oid NOT NULL,
    job_table text,
    job text NOT NULL,
    queue text,
    outcome text NOT NULL CHECK (outcome IN ('requeued', 'dead_lettered')),
    owner text,
    attempt integer
);
COMMENT ON TABLE pgq_ops.reap_log IS 'Every job that was taken back from a dead worker, for 30 days';
COMMENT ON COLUMN pgq_ops.reap_log.job IS 'The job''s primary key as text, a row literal where it has several columns';
COMMENT ON COLUMN pgq_ops.reap_log.owner IS 'Who held the job last';
-- A key may be longer than an index entry can be, so only its beginning is indexed.
CREATE INDEX reap_log_job ON pgq_ops.reap_log (table_oid, pg_catalog.left(job, 200), at);
