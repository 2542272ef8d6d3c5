-- The newest installed version of the pgq_ops schema, NULL if none is.
SELECT pg_catalog.max(version) AS version FROM pgq_ops.schema_version
