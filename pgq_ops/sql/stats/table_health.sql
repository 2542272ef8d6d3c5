-- Rows, vacuums, sizes and ages of those of {tables} (`oid`) that hold rows, as the catalog and the statistics have
-- them: times in epoch seconds, sizes in pages, ages in transactions and multixacts. Of its TOAST table: oid,
-- parameters, pages; size and age are of both together. In the end the seconds that its vacuums took
-- ({vacuum_seconds}), and the entries of its B-trees as of their last vacuum or analyze. Opens no relation, so it waits
-- for no lock.
SELECT c.oid::bigint, (SELECT n.nspname FROM pg_namespace AS n WHERE n.oid = c.relnamespace)::text, c.relname::text,
       t.oid::bigint, c.reloptions, t.reloptions, c.reltuples::float8,
       pg_catalog.pg_stat_get_live_tuples(c.oid), pg_catalog.pg_stat_get_dead_tuples(c.oid),
       extract(epoch FROM pg_catalog.pg_stat_get_last_vacuum_time(c.oid))::float8,
       extract(epoch FROM pg_catalog.pg_stat_get_last_autovacuum_time(c.oid))::float8,
       extract(epoch FROM greatest(pg_catalog.pg_stat_get_last_analyze_time(c.oid),
                                    pg_catalog.pg_stat_get_last_autoanalyze_time(c.oid)))::float8,
       c.relpages::bigint + coalesce(t.relpages, 0),
       indexes.pages,
       greatest(pg_catalog.age(c.relfrozenxid), pg_catalog.age(t.relfrozenxid)),
       greatest(pg_catalog.mxid_age(c.relminmxid), pg_catalog.mxid_age(t.relminmxid)),
       pg_catalog.pg_stat_get_tuples_inserted(c.oid), pg_catalog.pg_stat_get_tuples_updated(c.oid),
       pg_catalog.pg_stat_get_tuples_deleted(c.oid), pg_catalog.pg_stat_get_tuples_hot_updated(c.oid),
       pg_catalog.pg_stat_get_vacuum_count(c.oid) + pg_catalog.pg_stat_get_autovacuum_count(c.oid),
       coalesce(t.relpages, 0)::bigint, {vacuum_seconds}, indexes.entries
FROM pg_class AS c
LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
CROSS JOIN LATERAL (
    -- 403 are B-trees. Indexes of other kinds are counted also by a vacuum that removes nothing from them.
    SELECT coalesce(pg_catalog.sum(x.relpages), 0)::bigint AS pages,
           coalesce(pg_catalog.sum(x.reltuples::float8) FILTER (WHERE x.relam = 403::oid AND i.indrelid = c.oid), 0)::float8
               AS entries
    FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid
    WHERE i.indrelid IN (c.oid, c.reltoastrelid)
) AS indexes
-- As an array they are looked up one by one, however many tables there are beside them.
WHERE c.oid = ANY (ARRAY({tables})) AND c.relkind = 'r'
