-- A job table (%(oid)s) and all attached under it, parents first, with what the catalog says of each. Waits for no lock.
-- `past`: the time range of its partition has ended (NULL: it has none that could be read).
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid, NULL::oid AS parent, 0 AS depth
    UNION ALL
    SELECT i.inhrelid, i.inhparent, tree.depth + 1
    FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
), bounds AS (
    SELECT tree.oid, tree.parent, tree.depth,
           CASE WHEN a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)
                THEN substring(pg_catalog.pg_get_expr(c.relpartbound, 0) FROM ' TO \(''(\d{{4}}-\d\d-\d\d[^'']*)''') END AS upper
    FROM tree
    JOIN pg_class AS c ON c.oid = tree.oid
    LEFT JOIN pg_partitioned_table AS p ON p.partrelid = tree.parent AND p.partstrat = 'r'
    LEFT JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] AND p.partattrs[0] > 0
), ended AS (
    SELECT b.oid, b.depth, b.upper::timestamptz <= pg_catalog.now() AS past FROM bounds AS b WHERE b.depth = 0
    UNION ALL
    SELECT b.oid, b.depth, COALESCE(b.upper::timestamptz <= pg_catalog.now(), e.past) FROM bounds AS b JOIN ended AS e ON e.oid = b.parent
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind = 'r', c.relpersistence::text, e.past,
       c.relreplident::text,
       EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisvalid
               AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END)
FROM ended AS e
JOIN pg_class AS c ON c.oid = e.oid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY e.depth, n.nspname, c.relname
