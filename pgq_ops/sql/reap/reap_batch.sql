-- Requeues or buries the rows that take_expired locks (its parameters), in place, and reports as report_batch says.
-- The UPDATE repeats the whole condition. A row that is running afterwards was not changed: a trigger took it back.
WITH taken AS MATERIALIZED (
{take_expired}
), updated AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE {same_row} AND {is_reapable} AND {in_policy}
    RETURNING taken.pgq_ops_key, {is_running} AS pgq_ops_runs
), written AS (
    SELECT pgq_ops_key FROM updated WHERE pgq_ops_runs IS NOT TRUE
){record}
{report}
