-- Remember that parameters of a leaf (%(table_oid)s, called %(table_name)s in the schema %(table_schema)s) are set now,
-- in place of what was remembered of the same ones. %(settings)s is a JSON array of objects with parameter, old (null:
-- it was not set), set, and order: the names of all parameters before the first change. %(oid)s, %(schema)s and %(name)s
-- are the job table, %(job_table)s its name in the config; %(host)s and %(pid)s say which process sets them.
INSERT INTO pgq_ops.setting AS s (job_table, job_table_oid, job_table_schema, job_table_name, table_oid, row_type,
                                  table_schema, table_name, parameter, old_value, set_value, order_before,
                                  saved_at, set_at, host, pid, ledger)
SELECT %(job_table)s, %(oid)s, %(schema)s, %(name)s, c.oid, c.reltype, %(table_schema)s, %(table_name)s,
       w.parameter, w.old, w.set, w.order, pg_catalog.now(), pg_catalog.now(), %(host)s, %(pid)s,
       'pgq_ops.setting'::regclass
FROM pg_class AS c
CROSS JOIN pg_catalog.jsonb_to_recordset(%(settings)s) AS w(parameter text, old text, "set" text, "order" text[])
WHERE c.oid = %(table_oid)s::oid
ON CONFLICT (ledger, table_oid, parameter) WHERE ended_at IS NULL DO UPDATE
SET job_table = excluded.job_table,
    job_table_oid = excluded.job_table_oid,
    job_table_schema = excluded.job_table_schema,
    job_table_name = excluded.job_table_name,
    row_type = excluded.row_type,
    table_schema = excluded.table_schema,
    table_name = excluded.table_name,
    old_value = excluded.old_value,
    set_value = excluded.set_value,
    order_before = excluded.order_before,
    -- Of a value that was saved before, it stays.
    saved_at = CASE WHEN s.row_type = excluded.row_type AND s.old_value IS NOT DISTINCT FROM excluded.old_value
                    THEN s.saved_at ELSE excluded.saved_at END,
    set_at = excluded.set_at,
    host = excluded.host,
    pid = excluded.pid
