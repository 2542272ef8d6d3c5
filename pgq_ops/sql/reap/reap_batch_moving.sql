-- As reap_batch, but the buried rows are moved to the dead-letter table, by explicit columns, in this one statement.
-- The report's last column is removed minus copied: anything but 0 means that a trigger there swallowed copies, and the
-- transaction must be rolled back.
WITH taken AS MATERIALIZED (
{take_expired}
), requeued AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE NOT taken.pgq_ops_bury AND {same_row} AND CASE WHEN {is_reapable} AND {in_policy} THEN true END
    RETURNING {reported}, {is_running} AS pgq_ops_runs
), removed AS (
    DELETE FROM {table} AS j USING taken
    WHERE taken.pgq_ops_bury AND {same_row} AND CASE WHEN {is_reapable} AND {in_policy} THEN true END
    RETURNING j.*, {reported}
), copied AS (
    INSERT INTO {dead_letter_table} ({copied_columns}) OVERRIDING SYSTEM VALUE
    SELECT {copied_values}
    FROM removed AS j CROSS JOIN LATERAL (SELECT j.pgq_ops_bury) AS taken
    RETURNING 1
), written AS (
    SELECT {names} FROM requeued WHERE pgq_ops_runs IS NOT TRUE UNION ALL SELECT {names} FROM removed
){record}
{report}
