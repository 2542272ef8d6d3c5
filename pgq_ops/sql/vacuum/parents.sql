-- The partitioned tables of a job table's tree (%(oid)s), the job table first: oid, schema, name, and seconds since the
-- last ANALYZE; NULL: none is known of. Waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid, 0 AS depth
    UNION ALL
    SELECT i.inhrelid, tree.depth + 1
    FROM pg_inherits AS i JOIN tree ON i.inhparent = tree.oid WHERE NOT i.inhdetachpending
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text,
       extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.pg_stat_get_last_analyze_time(c.oid))::float8
FROM tree
JOIN pg_class AS c ON c.oid = tree.oid AND c.relkind = 'p'
JOIN pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY tree.depth, c.oid
