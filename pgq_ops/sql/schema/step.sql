-- Apply version {number}, called {name}, by its statements {ddl}, where it is not there yet.
-- One statement is one transaction. {lock} as in bootstrap.sql.
DO $pgq_ops$
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '10s', true), pg_catalog.pg_advisory_xact_lock({lock});
    IF EXISTS (SELECT FROM pgq_ops.schema_version WHERE version = {number}) THEN
        RETURN;
    END IF;

{ddl};

    INSERT INTO pgq_ops.schema_version (version, name) VALUES ({number}, {name});
END
$pgq_ops$
