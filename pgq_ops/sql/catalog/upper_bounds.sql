-- The upper bounds of a range-partitioned table (%(oid)s): the first value of TO (...) as text.
-- One row with `unbounded` true where a DEFAULT or MAXVALUE partition takes anything.
SELECT pg_catalog.bool_or(b.bound = 'DEFAULT' OR b.bound LIKE '%% TO (MAXVALUE%%') AS unbounded,
       pg_catalog.array_agg(substring(b.bound FROM ' TO \(''([^'']*)''')) AS bounds
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(c.relpartbound, 0::oid) AS bound) AS b
WHERE i.inhparent = %(oid)s::oid AND NOT i.inhdetachpending
