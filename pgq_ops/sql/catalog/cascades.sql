-- The foreign keys through which a row deleted from a table (%(oid)s) or its partitions changes other tables, and so on
-- from those whose rows are deleted too. One row a constraint: its name, its table, what it does (c: deletes, n: sets to
-- NULL, d: sets to the default), and whether its table is the first one again or a partition of it.
WITH RECURSIVE own AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM own JOIN pg_inherits AS i ON i.inhparent = own.oid
), tree AS (
    SELECT own.oid FROM own
    UNION
    SELECT next.oid
    FROM tree
    CROSS JOIN LATERAL (
        SELECT c.conrelid
        FROM pg_constraint AS c
        WHERE c.confrelid = tree.oid AND c.contype = 'f' AND c.conparentid = 0::oid AND c.confdeltype = 'c'
        UNION ALL
        SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = tree.oid
    ) AS next(oid)
)
SELECT DISTINCT c.conname::text, c.conrelid::regclass::text, c.confdeltype::text,
       c.conrelid IN (SELECT own.oid FROM own)
FROM tree JOIN pg_constraint AS c ON c.confrelid = tree.oid
WHERE c.contype = 'f' AND c.conparentid = 0::oid AND c.confdeltype IN ('c', 'n', 'd')
ORDER BY 2, 1
