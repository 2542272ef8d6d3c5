-- The %(limit)s dead letters that died last, of the first %(sample)s of a condition; those of unknown age come last.
-- Rows are chosen by their age alone, and what may be long is read of the chosen ones only.
WITH pgq_ops_chosen AS MATERIALIZED (
    SELECT s.pgq_ops_table, s.pgq_ops_row, s.pgq_ops_died_at
    FROM (
        SELECT j.tableoid AS pgq_ops_table, j.ctid AS pgq_ops_row, {died_at} AS pgq_ops_died_at
        FROM {table} AS j
        WHERE {condition}
        LIMIT %(sample)s
    ) AS s
    ORDER BY s.pgq_ops_died_at DESC NULLS LAST
    LIMIT %(limit)s
)
SELECT {columns}
FROM pgq_ops_chosen AS c
JOIN {table} AS j ON j.ctid = c.pgq_ops_row AND j.tableoid = c.pgq_ops_table
ORDER BY c.pgq_ops_died_at DESC NULLS LAST, {shown_id}
