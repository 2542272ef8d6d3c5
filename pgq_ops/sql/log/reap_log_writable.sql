-- Whether this role may write the reap log (false where it is not installed).
SELECT COALESCE(pg_catalog.bool_or(pg_catalog.has_schema_privilege(n.oid, 'USAGE')
                                   AND pg_catalog.has_table_privilege(c.oid, 'INSERT')), false)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'pgq_ops' AND c.relname = 'reap_log' AND c.relkind = 'r'
