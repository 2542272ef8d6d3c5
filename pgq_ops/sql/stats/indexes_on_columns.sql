-- The indexes of a table (%(oid)s) and its leaves that a change of one of its columns (%(columns)s, a text array) has to
-- write to, as they hold it or their expressions or predicate read it: schema, name, the column, and whether the index
-- is a partitioned one, which stands for its parts. Those of brin are left out from version 16 on, where they no longer
-- stand in the way of a HOT update. Reads the catalog alone.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT n.nspname::text, c.relname::text, a.attname::text, c.relkind = 'I'
FROM tree
JOIN pg_index AS i ON i.indrelid = tree.oid
JOIN pg_class AS c ON c.oid = i.indexrelid AND NOT c.relispartition
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_am AS m ON m.oid = c.relam
JOIN pg_attribute AS a ON a.attrelid = tree.oid AND a.attname = ANY (%(columns)s::text[])
WHERE (a.attnum = ANY (i.indkey::int2[])
       OR EXISTS (SELECT FROM pg_depend AS d
                  WHERE d.classid = 'pg_class'::regclass::oid AND d.objid = i.indexrelid
                    AND d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = tree.oid AND d.refobjsubid = a.attnum))
  AND (m.amname <> 'brin' OR pg_catalog.current_setting('server_version_num')::int < 160000)
ORDER BY 1, 2, 3
