-- Whether pg_stat_statements can be read here: its schema and version (NULL: not created in this database), whether the
-- server has loaded it and which statements it tracks, whether the role may use that schema and sees what others run.
-- And whether a bare name means the job table (%(oid)s): other tables may have the same one. Opens no relation.
SELECT n.nspname::text, e.extversion, pg_catalog.current_setting('pg_stat_statements.max', true) IS NOT NULL,
       pg_catalog.current_setting('pg_stat_statements.track', true),
       COALESCE(pg_catalog.has_schema_privilege(n.oid, 'USAGE'), false),
       pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'), current_user::text,
       COALESCE(pg_catalog.pg_table_is_visible(%(oid)s::oid), false) OR NOT EXISTS (
           SELECT
           FROM pg_class AS c
           JOIN pg_class AS other ON other.relname = c.relname AND other.oid <> c.oid AND other.relkind IN ('r', 'p', 'v')
           WHERE c.oid = %(oid)s::oid
       )
FROM (SELECT) AS once
LEFT JOIN pg_extension AS e ON e.extname = 'pg_stat_statements'
LEFT JOIN pg_namespace AS n ON n.oid = e.extnamespace
