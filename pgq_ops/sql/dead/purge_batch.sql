-- Deletes the dead letters that take locks (its parameters), and returns each, in order, as {exported}: JSON text, or NULL.
-- What is in the answer is what was deleted; the caller writes it to a file before it commits.
-- A row that is taken and not deleted was kept by a trigger.
WITH taken AS MATERIALIZED (
{take}
), removed AS (
    DELETE FROM {table} AS j USING taken
    WHERE {same_row} AND CASE WHEN {condition} THEN true END
    RETURNING taken.pgq_ops_key, {exported} AS pgq_ops_exported
)
SELECT taken.pgq_ops_key, taken.pgq_ops_id, ARRAY[{position}]::text[],
       removed.pgq_ops_key IS NOT NULL, removed.pgq_ops_exported
FROM taken LEFT JOIN removed USING (pgq_ops_key)
ORDER BY {first_first}
