-- For this transaction: read through an index wherever one fits, whatever the planner believes of a state's share
-- (only with %(through_indexes)s), and let a statement take 1 ms longer for each table of a partitioned one
-- (%(oid)s, NULL for any other), since planning opens them all. Returns now() in epoch seconds.
WITH RECURSIVE tree AS (
    SELECT i.inhrelid AS oid FROM pg_inherits AS i WHERE i.inhparent = %(oid)s::oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid
), bound AS (
    SELECT extract(epoch FROM current_setting('statement_timeout')::interval) * 1000 AS ms
)
SELECT set_config('enable_seqscan', CASE WHEN %(through_indexes)s THEN 'off' ELSE 'on' END, true),
       set_config('enable_sort', CASE WHEN %(through_indexes)s THEN 'off' ELSE 'on' END, true),
       set_config('statement_timeout', (CASE WHEN ms > 0 THEN ms + (SELECT count(*) FROM tree) ELSE 0 END)::int::text, true),
       extract(epoch FROM now())::float8
FROM bound
