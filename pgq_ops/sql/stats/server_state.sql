-- The server as a whole: version, recovery, what a crash would cost, how many of its connections are taken by anybody,
-- and the time in epoch seconds.
SELECT current_setting('server_version_num')::int,
       current_setting('server_version'),
       pg_is_in_recovery(),
       current_setting('fsync')::boolean,
       current_setting('full_page_writes')::boolean,
       (SELECT COALESCE(sum(d.numbackends), 0)::int FROM pg_stat_database AS d),
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - COALESCE(current_setting('reserved_connections', true)::int, 0),
       extract(epoch FROM now())::float8
