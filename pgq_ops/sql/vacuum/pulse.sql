-- What the statistics have of tables (%(oids)s) just now: rows inserted, updated, updated without touching an index,
-- deleted, and dead; vacuums of any kind; and the time, in epoch seconds. Reads no table, and waits for no lock.
SELECT w.oid::bigint, pg_catalog.pg_stat_get_tuples_inserted(w.oid), pg_catalog.pg_stat_get_tuples_updated(w.oid),
       pg_catalog.pg_stat_get_tuples_hot_updated(w.oid), pg_catalog.pg_stat_get_tuples_deleted(w.oid),
       pg_catalog.pg_stat_get_dead_tuples(w.oid),
       pg_catalog.pg_stat_get_vacuum_count(w.oid) + pg_catalog.pg_stat_get_autovacuum_count(w.oid),
       extract(epoch FROM pg_catalog.clock_timestamp())::float8
FROM pg_catalog.unnest(%(oids)s::oid[]) AS w(oid)
