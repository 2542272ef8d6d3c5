-- Whether the table of installed versions is there, and whether this role may read it.
-- Reads the catalog, so that neither the schema nor USAGE on it is needed.
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT') AS readable
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'pgq_ops' AND c.relname = 'schema_version' AND c.relkind = 'r'
