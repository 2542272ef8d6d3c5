-- For this transaction: let a statement take 1 ms longer for each table of a partitioned one (%(oid)s), since planning
-- opens them all.
WITH RECURSIVE tree AS (
    SELECT i.inhrelid AS oid FROM pg_inherits AS i WHERE i.inhparent = %(oid)s::oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid
), bound AS (
    SELECT extract(epoch FROM pg_catalog.current_setting('statement_timeout')::interval) * 1000.0 AS ms
)
SELECT pg_catalog.set_config('statement_timeout', (ms + (SELECT pg_catalog.count(*)::numeric FROM tree))::int::text, true) FROM bound WHERE ms > 0::numeric
