-- Rows of a table (%(oid)s) with its attached leaves, from the catalog and the statistics alone: live, and dead.
-- Either source may know nothing (a table never analysed, statistics lost in a crash): the larger one counts.
-- Names no relation to be opened, so it waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT sum(greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0))::float8,
       sum(pg_stat_get_dead_tuples(c.oid))::float8
FROM tree JOIN pg_class AS c ON c.oid = tree.oid AND c.relkind = 'r'
