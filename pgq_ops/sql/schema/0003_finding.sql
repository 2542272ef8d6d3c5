-- Version 3: what was wrong when, as the agents saw it, and when they looked.
CREATE TABLE pgq_ops.finding (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_oid oid NOT NULL,
    job_table text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('observe', 'manage')),
    finding text NOT NULL,
    opened_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    closed_at timestamptz,
    returns integer NOT NULL DEFAULT 0,
    severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    worst_severity text NOT NULL CHECK (worst_severity IN ('info', 'warning', 'critical')),
    summary text NOT NULL,
    evidence jsonb NOT NULL,
    remedy text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL
);
COMMENT ON TABLE pgq_ops.finding IS 'Each time that something was wrong with a job table, for 14 days';
COMMENT ON COLUMN pgq_ops.finding.job_table IS 'Its name in the config: one table may have several';
COMMENT ON COLUMN pgq_ops.finding.mode IS 'The mode of the agent that saw it: agents of two modes look side by side';
COMMENT ON COLUMN pgq_ops.finding.last_seen_at IS 'Brought up to date once a minute while it is there';
COMMENT ON COLUMN pgq_ops.finding.returns IS 'How often it came back after it had been gone for minutes only';
COMMENT ON COLUMN pgq_ops.finding.evidence IS 'As it was seen last, to the minute; finding_change has what came before';
CREATE UNIQUE INDEX finding_open ON pgq_ops.finding (table_oid, job_table, mode, finding) WHERE closed_at IS NULL;
CREATE INDEX finding_closed ON pgq_ops.finding (table_oid, job_table, mode, finding, closed_at)
WHERE closed_at IS NOT NULL;

CREATE TABLE pgq_ops.finding_change (
    finding_id bigint NOT NULL REFERENCES pgq_ops.finding ON DELETE CASCADE,
    at timestamptz NOT NULL,
    severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    summary text NOT NULL,
    evidence jsonb NOT NULL,
    remedy text NOT NULL,
    PRIMARY KEY (finding_id, at)
);
COMMENT ON TABLE pgq_ops.finding_change IS 'What a finding said when it opened, and since each time that it changed';

CREATE TABLE pgq_ops.watch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_oid oid NOT NULL,
    job_table text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('observe', 'manage')),
    began_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL
);
COMMENT ON TABLE pgq_ops.watch IS 'When an agent looked at a job table; of any other time nothing is known';
CREATE INDEX watch_latest ON pgq_ops.watch (table_oid, job_table, mode, last_at)
