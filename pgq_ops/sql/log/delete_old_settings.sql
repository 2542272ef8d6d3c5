-- Forget up to %(batch)s settings: those that ended %(keep_seconds)s seconds ago, and those of tables that are gone.
DELETE FROM pgq_ops.setting
WHERE id IN (SELECT s.id
             FROM pgq_ops.setting AS s
             WHERE s.ended_at < pg_catalog.now() - pg_catalog.make_interval(secs => %(keep_seconds)s)
                OR s.ended_at IS NULL
                   AND NOT EXISTS (SELECT FROM pg_class AS c
                                   WHERE s.ledger = s.tableoid AND c.oid = s.table_oid AND c.reltype = s.row_type)
             ORDER BY s.id LIMIT %(batch)s
             FOR UPDATE SKIP LOCKED)
