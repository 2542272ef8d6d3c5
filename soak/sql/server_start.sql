-- When the server was started, in microseconds of the epoch.
SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
