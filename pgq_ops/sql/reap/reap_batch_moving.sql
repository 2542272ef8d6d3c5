-- As reap_batch, but the buried rows are moved to the dead-letter table, by explicit columns, in this one statement.
-- The last column is removed minus copied: anything but 0 means that a trigger there swallowed copies, and the
-- transaction must be rolled back.
WITH taken AS MATERIALIZED (
{take_expired}
), requeued AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE NOT taken.pgq_ops_bury AND {same_row} AND {is_reapable} AND {in_policy}
    RETURNING taken.pgq_ops_key
), removed AS (
    DELETE FROM {table} AS j USING taken
    WHERE taken.pgq_ops_bury AND {same_row} AND {is_reapable} AND {in_policy}
    RETURNING j.*, taken.pgq_ops_key
), copied AS (
    INSERT INTO {dead_letter_table} ({copied_columns}) OVERRIDING SYSTEM VALUE
    SELECT {copied_values}
    FROM removed AS j JOIN taken ON taken.pgq_ops_key = j.pgq_ops_key
    RETURNING 1
), written AS (
    SELECT pgq_ops_key FROM requeued UNION ALL SELECT pgq_ops_key FROM removed
)
SELECT taken.pgq_ops_key, taken.pgq_ops_queue, taken.pgq_ops_id, taken.pgq_ops_owner,
       LEAST(GREATEST(taken.pgq_ops_attempt, -2147483648), 2147483647)::bigint,
       taken.pgq_ops_bury, taken.pgq_ops_position, written.pgq_ops_key IS NOT NULL,
       (SELECT count(*) FROM removed) - (SELECT count(*) FROM copied)
FROM taken LEFT JOIN written ON written.pgq_ops_key = taken.pgq_ops_key
ORDER BY {taken_order}
