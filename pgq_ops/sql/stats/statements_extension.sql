-- Where pg_stat_statements is in this database, and what of it this role sees: pg_stat_statements.track (NULL where the
-- library is not loaded), the schema of the extension and whether this role may use that (NULL where it is not here),
-- and whether it sees other roles' texts.
SELECT pg_catalog.current_setting('pg_stat_statements.track', true), n.nspname::text, pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
       pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')
FROM (SELECT) AS once
LEFT JOIN pg_extension AS e ON e.extname = 'pg_stat_statements'
LEFT JOIN pg_namespace AS n ON n.oid = e.extnamespace
