-- The server as a whole: version, recovery, what a crash would cost, how many of its connections are taken by anybody,
-- and the time in epoch seconds.
SELECT pg_catalog.current_setting('server_version_num')::int,
       pg_catalog.current_setting('server_version'),
       pg_catalog.pg_is_in_recovery(),
       pg_catalog.current_setting('fsync')::boolean,
       pg_catalog.current_setting('full_page_writes')::boolean,
       (SELECT COALESCE(pg_catalog.sum(d.numbackends), 0)::int FROM pg_stat_database AS d),
       pg_catalog.current_setting('max_connections')::int - pg_catalog.current_setting('superuser_reserved_connections')::int
           - COALESCE(pg_catalog.current_setting('reserved_connections', true)::int, 0),
       extract(epoch FROM pg_catalog.now())::float8
