-- Live rows of a table (%(oid)s) with its attached leaves as of their last vacuum or analyze; as the statistics
-- have it where there was none. (They alone would not do: lost in a crash, and up to twice too high after a load
-- and an ANALYZE in one session.) Opens no relation, so it waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT pg_catalog.sum(CASE WHEN c.reltuples > 0 THEN c.reltuples ELSE pg_catalog.pg_stat_get_live_tuples(c.oid) END)::float8
FROM tree JOIN pg_class AS c ON c.oid = tree.oid AND c.relkind = 'r'
