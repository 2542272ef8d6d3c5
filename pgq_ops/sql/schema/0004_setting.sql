-- Version 4: the storage parameters that pgq-ops set on job tables, with what was there before.
CREATE TABLE pgq_ops.setting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_table text NOT NULL,
    job_table_oid oid NOT NULL,
    job_table_schema text NOT NULL,
    job_table_name text NOT NULL,
    table_oid oid NOT NULL,
    row_type oid NOT NULL,
    table_schema text NOT NULL,
    table_name text NOT NULL,
    parameter text NOT NULL,
    old_value text,
    set_value text NOT NULL,
    order_before text[] NOT NULL,
    saved_at timestamptz NOT NULL,
    set_at timestamptz NOT NULL,
    ended_at timestamptz,
    ending text CHECK (ending IN ('reverted', 'overridden')),
    host text NOT NULL,
    pid integer NOT NULL,
    ledger oid NOT NULL,
    CHECK ((ended_at IS NULL) = (ending IS NULL))
);
COMMENT ON TABLE pgq_ops.setting IS 'Each storage parameter that pgq-ops set, and its value before; for 30 days after it was put back';
COMMENT ON COLUMN pgq_ops.setting.job_table IS 'Its name in the config; the three after it say which table that is';
COMMENT ON COLUMN pgq_ops.setting.row_type IS 'pg_class.reltype: with the oid it tells the table from a later one that was given the same oid';
COMMENT ON COLUMN pgq_ops.setting.table_name IS 'As it was called when the parameter was set last';
COMMENT ON COLUMN pgq_ops.setting.parameter IS 'With toast. before it where it is the TOAST table''s';
COMMENT ON COLUMN pgq_ops.setting.old_value IS 'NULL: it was not set';
COMMENT ON COLUMN pgq_ops.setting.order_before IS 'The names in the order in which the table had them, before the first change';
COMMENT ON COLUMN pgq_ops.setting.ending IS 'overridden: somebody else had changed the value, which was left as it was';
COMMENT ON COLUMN pgq_ops.setting.ledger IS 'The oid of this table then: another one means that this is a restored copy, whose oids mean nothing';
CREATE UNIQUE INDEX setting_open ON pgq_ops.setting (ledger, table_oid, parameter) WHERE ended_at IS NULL
