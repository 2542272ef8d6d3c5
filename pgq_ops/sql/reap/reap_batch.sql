-- Requeues or buries the rows that take_expired locks (its parameters), in place.
-- The UPDATE repeats the whole condition; `written` is false where the user's own trigger swallowed the change.
WITH taken AS MATERIALIZED (
{take_expired}
), written AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE {same_row} AND {is_reapable} AND {in_policy}
    RETURNING taken.pgq_ops_key
)
SELECT taken.pgq_ops_key, taken.pgq_ops_queue, taken.pgq_ops_id, taken.pgq_ops_owner,
       LEAST(GREATEST(taken.pgq_ops_attempt, -2147483648), 2147483647)::bigint,
       taken.pgq_ops_bury, taken.pgq_ops_position, written.pgq_ops_key IS NOT NULL, 0::bigint
FROM taken LEFT JOIN written ON written.pgq_ops_key = taken.pgq_ops_key
ORDER BY {taken_order}
