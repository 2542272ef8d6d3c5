-- What the server is and what it allows this session: version, recovery, deadlock_timeout in ms.
SELECT pg_catalog.current_setting('server_version_num')::int AS version_number,
       pg_catalog.current_setting('server_version') AS version,
       pg_catalog.current_database()::text AS database,
       current_user::text AS role,
       pg_catalog.pg_is_in_recovery() AS in_recovery,
       extract(epoch FROM pg_catalog.now() - pg_catalog.pg_postmaster_start_time())::float8 AS uptime_seconds,
       extract(epoch FROM pg_catalog.current_setting('deadlock_timeout')::interval)::float8 AS deadlock_timeout_seconds
