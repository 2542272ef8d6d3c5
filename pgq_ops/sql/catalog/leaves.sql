-- The attached leaf tables of a partitioned table (%(oid)s), or the table itself; none that is being detached.
-- `updatable`: this role may write all of %(columns)s (a text array) there itself, not only through the parent,
-- and delete there where %(deleting)s is true.
-- Reads pg_inherits: pg_partition_tree() would wait for each leaf's lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT c.oid::bigint AS oid, n.nspname::text AS schema, c.relname::text AS name,
       greatest(c.reltuples, 0)::float8 AS tuples, c.relpages::bigint AS pages,
       pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
           AND (NOT %(deleting)s::boolean OR pg_catalog.has_table_privilege(c.oid, 'DELETE'))
           AND NOT EXISTS (SELECT FROM pg_catalog.unnest(%(columns)s::text[]) AS w(name)
                           JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = w.name
                           WHERE NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE')) AS updatable
FROM tree
JOIN pg_class AS c ON c.oid = tree.oid AND c.relkind = 'r'
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY c.oid
