-- How old the planner's statistics of a job table (%(oid)s) and its partitions are: changes since the last ANALYZE, and
-- seconds since it (NULL: never, or not since the counters began). `leaf` tables hold rows. Waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind = 'r',
       pg_catalog.pg_stat_get_mod_since_analyze(c.oid), pg_catalog.pg_stat_get_live_tuples(c.oid), c.reltuples::float8,
       extract(epoch FROM pg_catalog.now() - greatest(pg_catalog.pg_stat_get_last_analyze_time(c.oid),
                                           pg_catalog.pg_stat_get_last_autoanalyze_time(c.oid)))::float8
FROM tree
JOIN pg_class AS c ON c.oid = tree.oid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY c.relkind = 'r', n.nspname, c.relname
