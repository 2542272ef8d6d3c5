-- The foreign keys through which a row deleted from a table (%(oid)s) or its partitions changes other tables, and so on
-- from those whose rows are deleted too. One row a constraint: its name, its table, what it does (c: deletes, n: sets to
-- NULL, d: sets to the default).
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT next.oid
    FROM tree
    CROSS JOIN LATERAL (
        SELECT c.conrelid
        FROM pg_constraint AS c
        WHERE c.confrelid = tree.oid AND c.contype = 'f' AND c.conparentid = 0 AND c.confdeltype = 'c'
        UNION ALL
        SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = tree.oid
    ) AS next(oid)
)
SELECT DISTINCT c.conname::text, c.conrelid::regclass::text, c.confdeltype::text
FROM tree JOIN pg_constraint AS c ON c.confrelid = tree.oid
WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confdeltype IN ('c', 'n', 'd')
ORDER BY 2, 1
