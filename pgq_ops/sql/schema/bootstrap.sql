-- What every version needs before it: the schema and the table that says which versions are there.
-- {lock} keeps two installers apart; it is waited for longer than locks on users' tables ever are.
-- CREATE SCHEMA IF NOT EXISTS would ask for CREATE on the database even where an administrator has made the schema.
DO $pgq_ops$
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '10s', true), pg_catalog.pg_advisory_xact_lock({lock});
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgq_ops') THEN
        CREATE SCHEMA pgq_ops;
        COMMENT ON SCHEMA pgq_ops IS 'What pgq-ops remembers between its runs';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = pg_catalog.to_regclass('pgq_ops.schema_version')::oid) THEN
        CREATE TABLE pgq_ops.schema_version (
            version integer PRIMARY KEY,
            name text NOT NULL,
            installed_at timestamptz NOT NULL DEFAULT pg_catalog.now()
        );
        COMMENT ON TABLE pgq_ops.schema_version IS 'The installed versions of this schema';
    END IF;
END
$pgq_ops$
