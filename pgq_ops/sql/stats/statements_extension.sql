-- Where pg_stat_statements is in this database, and what of it this role sees; no row where the extension is not there.
-- The schema it is in, whether this role may use that, whether it sees other roles' texts, and pg_stat_statements.track
-- (NULL where the library is not loaded).
SELECT n.nspname::text, has_schema_privilege(n.oid, 'USAGE'), pg_has_role('pg_read_all_stats', 'USAGE'),
       current_setting('pg_stat_statements.track', true)
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
