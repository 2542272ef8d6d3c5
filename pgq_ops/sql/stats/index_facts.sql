-- What the catalog says of indexes, by schema and name (%(schemas)s and %(names)s are parallel text arrays):
-- whether it is partial, and its first column or expression as EXPLAIN prints it.
SELECT n.nspname::text, c.relname::text, c.oid::bigint, i.indpred IS NOT NULL, pg_catalog.pg_get_indexdef(c.oid, 1, false)
FROM unnest(%(schemas)s::text[], %(names)s::text[]) AS w(schema, name)
JOIN pg_namespace AS n ON n.nspname = w.schema
JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
JOIN pg_index AS i ON i.indexrelid = c.oid
