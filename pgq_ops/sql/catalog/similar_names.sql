-- Tables that a mistyped name may have meant: every table outside the system schemas, at most 2,000.
SELECT n.nspname::text AS schema, c.relname::text AS name
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'pgq_ops')
ORDER BY n.nspname, c.relname
LIMIT 2000
