-- In a copy of the database that was restored from a dump, give what is remembered to the tables of the same names: the
-- oids are another database's. Of several tables that had the same name in turn, the one whose parameters were set last.
UPDATE pgq_ops.setting AS s
SET table_oid = there.oid, row_type = there.reltype, ledger = s.tableoid,
    job_table_oid = COALESCE((SELECT c.oid FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
                              WHERE n.nspname = s.job_table_schema AND c.relname = s.job_table_name), 0)
FROM (SELECT DISTINCT ON (c.oid, o.parameter) o.id, c.oid, c.reltype
      FROM pgq_ops.setting AS o
      JOIN pg_namespace AS n ON n.nspname = o.table_schema
      JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = o.table_name AND c.relkind = 'r'
      WHERE o.ended_at IS NULL AND o.ledger <> o.tableoid
      ORDER BY c.oid, o.parameter, o.set_at DESC, o.id DESC) AS there
WHERE s.id = there.id AND s.ended_at IS NULL AND s.ledger <> s.tableoid
  AND NOT EXISTS (SELECT FROM pgq_ops.setting AS k
                  WHERE k.ledger = k.tableoid AND k.table_oid = there.oid AND k.parameter = s.parameter
                    AND k.ended_at IS NULL)
