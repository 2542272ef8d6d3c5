-- The tables (no partitions, nothing of the system's) that have all of %(columns)s, a text array of column names.
SELECT n.nspname::text AS schema, c.relname::text AS name
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'pgq_ops')
  AND (SELECT pg_catalog.count(*) FROM pg_attribute AS a
       WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = ANY (%(columns)s::text[]))
      = pg_catalog.cardinality(%(columns)s::text[])
ORDER BY n.nspname, c.relname
LIMIT 100
