-- The parameters of one leaf (%(table_oid)s) that are as pgq-ops set them, as far as it knows; columns as in
-- settings_of_table.
SELECT s.id, c.oid::bigint, s.parameter, s.old_value, s.set_value, s.order_before, extract(epoch FROM s.set_at)::float8
FROM pgq_ops.setting AS s
JOIN pg_class AS c ON c.oid = s.table_oid AND c.reltype = s.row_type
WHERE c.oid = %(table_oid)s::oid AND s.ledger = s.tableoid AND s.ended_at IS NULL
ORDER BY s.id
