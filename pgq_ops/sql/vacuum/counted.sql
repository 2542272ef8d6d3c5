-- What the statistics have of a table (%(oid)s): vacuums and analyzes by hand, dead rows; and the time, in epoch seconds.
SELECT pg_catalog.pg_stat_get_vacuum_count(w.oid), pg_catalog.pg_stat_get_analyze_count(w.oid),
       pg_catalog.pg_stat_get_dead_tuples(w.oid), extract(epoch FROM pg_catalog.clock_timestamp())::float8
FROM (SELECT %(oid)s::oid AS oid) AS w
