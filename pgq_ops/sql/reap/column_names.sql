-- The names of a table's columns now. %(name)s: its quoted, qualified name.
SELECT pg_catalog.array_agg(a.attname::text)
FROM pg_attribute AS a
WHERE a.attrelid = %(name)s::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
