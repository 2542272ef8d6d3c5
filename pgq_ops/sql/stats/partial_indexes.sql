-- The names of the partial indexes of a table (%(oid)s) and its leaves.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT DISTINCT c.relname::text
FROM tree
JOIN pg_index AS i ON i.indrelid = tree.oid AND i.indpred IS NOT NULL
JOIN pg_class AS c ON c.oid = i.indexrelid
