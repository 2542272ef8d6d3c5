-- Requeues or buries the rows that take_expired locks (its parameters), in place, and reports as report_batch says.
-- The UPDATE repeats the whole condition; the CASE hides it from the planner, which would else begin with all running
-- rows where it believes there is one, and compare each of them with each of the batch.
-- A row that is running afterwards was not changed: a trigger took it back.
WITH taken AS MATERIALIZED (
{take_expired}
), updated AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE {same_row} AND CASE WHEN {is_reapable} AND {in_policy} THEN true END
    RETURNING {reported}, {is_running} AS pgq_ops_runs
), written AS (
    SELECT * FROM updated WHERE pgq_ops_runs IS NOT TRUE
){record}
{report}
