-- A partitioned table (%(oid)s) and everything attached under it, parents before children; `parent` is NULL for the
-- table itself. Reads the catalog alone, so it waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid, NULL::oid AS parent, 0 AS depth
    UNION ALL
    SELECT i.inhrelid, i.inhparent, tree.depth + 1
    FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, tree.parent::bigint, c.relkind = 'r'
FROM tree
JOIN pg_class AS c ON c.oid = tree.oid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY tree.depth, n.nspname, c.relname
