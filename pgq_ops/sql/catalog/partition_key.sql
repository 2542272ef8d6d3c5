-- The partition key columns of a partitioned table (%(oid)s) and of its partitioned children.
-- An expression in a key has no column: then `name` is NULL.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid
)
SELECT DISTINCT p.partrelid = %(oid)s::oid AS top, p.partstrat::text AS strategy, k.position::int AS position, a.attname::text AS name
FROM tree
JOIN pg_partitioned_table AS p ON p.partrelid = tree.oid
CROSS JOIN LATERAL pg_catalog.unnest(p.partattrs::int2[]) WITH ORDINALITY AS k(attnum, position)
LEFT JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = k.attnum AND k.attnum > 0
ORDER BY top DESC, position
