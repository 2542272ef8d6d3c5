-- For how many seconds a table (`c`) has been vacuumed in all, from PostgreSQL 18 on. A part of table_health.sql.
((pg_catalog.pg_stat_get_total_vacuum_time(c.oid) + pg_catalog.pg_stat_get_total_autovacuum_time(c.oid)) / 1000.0::float8)
