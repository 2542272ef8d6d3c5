-- The CHECK constraints of a table (%(oid)s) that look at one column only, with that column and their expression.
SELECT c.conname::text AS name, a.attname::text AS column, pg_catalog.pg_get_expr(c.conbin, c.conrelid) AS expression
FROM pg_constraint AS c
JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.conrelid = %(oid)s::oid AND c.contype = 'c' AND pg_catalog.cardinality(c.conkey) = 1
ORDER BY c.conname
