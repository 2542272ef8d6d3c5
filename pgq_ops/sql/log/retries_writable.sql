-- Whether this role may write the reap log, and whether its CHECK allows retries (false where it is not installed).
SELECT COALESCE(bool_or(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'INSERT')
                        AND EXISTS (SELECT FROM pg_constraint AS k
                                    WHERE k.conrelid = c.oid AND k.contype = 'c'
                                      AND strpos(pg_get_constraintdef(k.oid), '''retried''') > 0)), false)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'pgq_ops' AND c.relname = 'reap_log' AND c.relkind = 'r'
