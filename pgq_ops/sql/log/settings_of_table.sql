-- The parameters that are as pgq-ops set them, as far as it knows, of the leaves of a job table (%(oid)s, called %(name)s
-- in the schema %(schema)s), of those detached since too: row, leaf's oid, parameter, old value, the value set, the order
-- of the names before, epoch seconds when set. In a restored copy of the database tables are found by their names.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.oid
)
SELECT s.id, leaf.oid::bigint, s.parameter, s.old_value, s.set_value, s.order_before,
       extract(epoch FROM s.set_at)::float8
FROM pgq_ops.setting AS s
CROSS JOIN LATERAL (
    SELECT c.oid FROM pg_class AS c WHERE s.ledger = s.tableoid AND c.oid = s.table_oid AND c.reltype = s.row_type
    UNION ALL
    SELECT c.oid
    FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
    WHERE s.ledger <> s.tableoid AND n.nspname = s.table_schema AND c.relname = s.table_name AND c.relkind = 'r'
) AS leaf
WHERE s.ended_at IS NULL
  AND (s.ledger = s.tableoid AND s.job_table_oid = %(oid)s::oid
       OR s.job_table_schema = %(schema)s AND s.job_table_name = %(name)s
       OR leaf.oid IN (SELECT tree.oid FROM tree))
ORDER BY s.id
