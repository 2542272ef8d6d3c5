-- What the server is and what it allows this session: version, recovery, deadlock_timeout in ms.
SELECT current_setting('server_version_num')::int AS version_number,
       current_setting('server_version') AS version,
       current_database()::text AS database,
       current_user::text AS role,
       pg_is_in_recovery() AS in_recovery,
       extract(epoch FROM now() - pg_postmaster_start_time())::float8 AS uptime_seconds,
       extract(epoch FROM current_setting('deadlock_timeout')::interval)::float8 AS deadlock_timeout_seconds
