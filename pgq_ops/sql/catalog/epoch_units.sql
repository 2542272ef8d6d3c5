-- Whether any of the first rows of {table} holds a time of 2001-09 to 2096-10 in {epoch}, read as seconds, as
-- milliseconds, as microseconds since 1970. The three ranges lie far apart.
SELECT COALESCE(pg_catalog.bool_or(s.pgq_ops_value BETWEEN 1e9 AND 4e9), false),
       COALESCE(pg_catalog.bool_or(s.pgq_ops_value BETWEEN 1e12 AND 4e12), false),
       COALESCE(pg_catalog.bool_or(s.pgq_ops_value BETWEEN 1e15 AND 4e15), false)
FROM (SELECT {epoch} AS pgq_ops_value FROM {table} AS j LIMIT 1000) AS s
