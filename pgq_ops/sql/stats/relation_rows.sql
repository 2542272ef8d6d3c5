-- How many rows tables and entries indexes (%(oids)s, bigint array) held when they were last vacuumed or analysed; of a
-- table that never was, as the statistics have it. (They alone would not do: lost in a crash, and up to twice too high
-- after a load and an ANALYZE in one session.) Opens no relation, so it waits for no lock.
SELECT c.oid::bigint,
       (CASE WHEN c.reltuples > 0 THEN c.reltuples WHEN c.relkind = 'r' THEN pg_catalog.pg_stat_get_live_tuples(c.oid) ELSE 0 END)::float8
FROM pg_class AS c
WHERE c.oid = ANY (%(oids)s::oid[])
