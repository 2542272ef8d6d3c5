-- Makes the dead jobs that take locks (its parameters) pending again, in place, each at a moment of its own.
-- %(begun)s: when the retry began, in epoch seconds. %(before)s: how many jobs it has given back so far.
-- %(rate)s: jobs a second; each lands at random within its slot. 0: all at once.
-- The UPDATE repeats the whole condition; the CASE hides it from the planner, as in reap_batch.
-- A row that is dead afterwards was not changed: a trigger took it back.
WITH locked AS MATERIALIZED (
{take}
), taken AS MATERIALIZED (
    SELECT locked.*, CASE WHEN %(rate)s::float8 > 0::float8
               THEN ((%(before)s + pg_catalog.row_number() OVER ())::float8 - pg_catalog.random()) / %(rate)s::float8
               ELSE 0 END AS pgq_ops_delay_seconds
    FROM locked
), updated AS (
    UPDATE {table} AS j SET {assignments}
    FROM taken
    WHERE {same_row} AND CASE WHEN {condition} THEN true END
    RETURNING taken.pgq_ops_key, {is_dead} AS pgq_ops_dead
), changed AS (
    SELECT pgq_ops_key FROM updated WHERE pgq_ops_dead IS NOT TRUE
){record}
SELECT taken.pgq_ops_key, taken.pgq_ops_id, ARRAY[{position}]::text[],
       taken.pgq_ops_key IN (SELECT changed.pgq_ops_key FROM changed),
       '{{}}'::text[],
       '{{}}'::text[],
       extract(epoch FROM {moment})::float8,
       taken.pgq_ops_left,
       0
FROM taken
ORDER BY {last_first}
