-- Rows, vacuums, sizes and ages of those of {tables} (`oid`) that hold rows, as the catalog and the statistics have
-- them: times in epoch seconds, sizes in pages, ages in transactions and multixacts. Of its TOAST table: oid,
-- parameters, pages; size and age are of both together. Opens no relation, so it waits for no lock.
SELECT c.oid::bigint, (SELECT n.nspname FROM pg_namespace AS n WHERE n.oid = c.relnamespace)::text, c.relname::text,
       t.oid::bigint, c.reloptions, t.reloptions, c.reltuples::float8,
       pg_catalog.pg_stat_get_live_tuples(c.oid), pg_catalog.pg_stat_get_dead_tuples(c.oid),
       extract(epoch FROM pg_catalog.pg_stat_get_last_vacuum_time(c.oid))::float8,
       extract(epoch FROM pg_catalog.pg_stat_get_last_autovacuum_time(c.oid))::float8,
       extract(epoch FROM greatest(pg_catalog.pg_stat_get_last_analyze_time(c.oid),
                                    pg_catalog.pg_stat_get_last_autoanalyze_time(c.oid)))::float8,
       c.relpages::bigint + coalesce(t.relpages, 0),
       (SELECT coalesce(pg_catalog.sum(x.relpages), 0)::bigint FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid
        WHERE i.indrelid IN (c.oid, c.reltoastrelid)),
       greatest(pg_catalog.age(c.relfrozenxid), pg_catalog.age(t.relfrozenxid)),
       greatest(pg_catalog.mxid_age(c.relminmxid), pg_catalog.mxid_age(t.relminmxid)),
       pg_catalog.pg_stat_get_tuples_inserted(c.oid), pg_catalog.pg_stat_get_tuples_updated(c.oid),
       pg_catalog.pg_stat_get_tuples_deleted(c.oid), pg_catalog.pg_stat_get_tuples_hot_updated(c.oid),
       pg_catalog.pg_stat_get_vacuum_count(c.oid) + pg_catalog.pg_stat_get_autovacuum_count(c.oid),
       coalesce(t.relpages, 0)::bigint
FROM pg_class AS c
LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
-- As an array they are looked up one by one, however many tables there are beside them.
WHERE c.oid = ANY (ARRAY({tables})) AND c.relkind = 'r'
