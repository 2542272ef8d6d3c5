-- The server's autovacuum: whether it is on, whether rows are counted, whether this is a standby (booleans), seconds
-- between two visits, bytes of a page. Then what it goes by where a table has no parameters of its own: threshold in
-- rows, scale factor, highest threshold in rows (-1: none; from 18), the ages in transactions and in multixacts that
-- force a visit.
SELECT pg_catalog.current_setting('autovacuum')::boolean, pg_catalog.current_setting('track_counts')::boolean,
       pg_catalog.pg_is_in_recovery(),
       extract(epoch FROM pg_catalog.current_setting('autovacuum_naptime')::interval)::float8,
       pg_catalog.current_setting('block_size')::bigint,
       pg_catalog.current_setting('autovacuum_vacuum_threshold')::float8,
       pg_catalog.current_setting('autovacuum_vacuum_scale_factor')::float8,
       coalesce(pg_catalog.current_setting('autovacuum_vacuum_max_threshold', true), '-1')::float8,
       pg_catalog.current_setting('autovacuum_freeze_max_age')::bigint,
       pg_catalog.current_setting('autovacuum_multixact_freeze_max_age')::bigint
