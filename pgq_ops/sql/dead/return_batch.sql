-- As retry_batch, but from a dead-letter table: the jobs are moved back, by explicit columns and with their ids.
-- One that has a value for which the job table has no column (pgq_ops_lost names them), or one that is too narrow
-- (pgq_ops_cut), stays where it is.
-- The report's last column is removed minus copied: anything but 0 means that a trigger of the job table swallowed jobs,
-- and the transaction must be rolled back.
WITH locked AS MATERIALIZED (
{take}
), taken AS MATERIALIZED (
    SELECT locked.*, CASE WHEN %(rate)s::float8 > 0::float8
               THEN ((%(before)s + pg_catalog.row_number() OVER ())::float8 - pg_catalog.random()) / %(rate)s::float8
               ELSE 0 END AS pgq_ops_delay_seconds
    FROM locked
), removed AS (
    DELETE FROM {table} AS j USING taken
    WHERE pg_catalog.cardinality(taken.pgq_ops_lost || taken.pgq_ops_cut) = 0 AND {same_row} AND CASE WHEN {condition} THEN true END
    RETURNING j.*, taken.pgq_ops_key, taken.pgq_ops_delay_seconds
), copied AS (
    INSERT INTO {job_table} ({columns}) OVERRIDING SYSTEM VALUE
    SELECT {values}
    FROM (SELECT {typed}, removed.pgq_ops_delay_seconds FROM removed) AS j
    CROSS JOIN LATERAL (SELECT j.pgq_ops_delay_seconds) AS taken
    RETURNING 1
), changed AS (
    SELECT pgq_ops_key FROM removed
){record}
SELECT taken.pgq_ops_key, taken.pgq_ops_id, ARRAY[{position}]::text[],
       taken.pgq_ops_key IN (SELECT changed.pgq_ops_key FROM changed),
       taken.pgq_ops_lost,
       taken.pgq_ops_cut,
       extract(epoch FROM {moment})::float8,
       taken.pgq_ops_left,
       (SELECT pg_catalog.count(*) FROM removed) - (SELECT pg_catalog.count(*) FROM copied)
FROM taken
ORDER BY {last_first}
