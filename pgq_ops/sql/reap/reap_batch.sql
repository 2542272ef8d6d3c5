-- Requeues or buries the rows that take_expired locks (its parameters), in place, and reports as report_batch says.
-- The UPDATE repeats the whole condition.
WITH taken AS MATERIALIZED (
{take_expired}
), written AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE {same_row} AND {is_reapable} AND {in_policy}
    RETURNING taken.pgq_ops_key
){record}
{report}
