-- The databases of another encoding than this one's of which pg_stat_statements counts statements: their names.
-- {statements} is the function of the extension, called without texts.
SELECT DISTINCT d.datname::text
FROM {statements}(false) AS s
JOIN pg_database AS d ON d.oid = s.dbid
WHERE d.encoding <> (SELECT own.encoding FROM pg_database AS own WHERE own.datname = pg_catalog.current_database())
ORDER BY 1
LIMIT %(limit)s
