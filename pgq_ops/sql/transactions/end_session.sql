-- The session %(pid)s, if it is still in the transaction that began at %(started)s (exactly: epoch seconds as text),
-- and whether it may be ended: never one of ours (of our own role, and called so), of another database, of anybody but
-- a client, of a superuser; and where %(idle_seconds)s is not NULL, only one that has been idle in its transaction for
-- so many seconds. With %(act)s that session is ended, by the same look that found it, and waited for up to %(wait_ms)s
-- milliseconds: `ended` says whether it is gone. One row: whether somebody has that pid whom the role cannot see, then
-- the session, NULL where it is gone.
WITH found AS MATERIALIZED (
    SELECT s.pid, s.datname, s.application_name, COALESCE(s.usename::text, '') AS role, s.state, s.xact_start,
           s.state_change, s.backend_type, s.usesysid, COALESCE(u.rolsuper, false) AS superuser,
           pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') OR pg_catalog.pg_has_role(s.usesysid, 'USAGE') AS visible
    FROM pg_stat_activity AS s
    LEFT JOIN pg_roles AS u ON u.oid = s.usesysid
    WHERE s.pid = %(pid)s
),
target AS MATERIALIZED (
    SELECT f.pid, f.application_name, f.role, f.state,
           greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - f.xact_start))::float8 AS seconds,
           CASE WHEN f.state = 'idle in transaction'
                THEN greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - f.state_change))::float8 END AS idle_seconds,
           CASE
               WHEN (f.application_name LIKE 'pgq-ops/%%' AND f.usesysid = (
                   SELECT r.oid FROM pg_roles AS r WHERE r.rolname = session_user
               )) OR f.pid = pg_catalog.pg_backend_pid() THEN 'ours'
               WHEN f.backend_type <> 'client backend' OR f.datname IS NULL THEN 'no client'
               WHEN f.datname <> pg_catalog.current_database() THEN 'another database'
               WHEN f.superuser THEN 'superuser'
               WHEN NOT (pg_catalog.pg_has_role(f.usesysid, 'USAGE') OR pg_catalog.pg_has_role('pg_signal_backend', 'USAGE'))
                   THEN 'not permitted'
               WHEN %(idle_seconds)s::float8 IS NOT NULL AND NOT (
                   f.state = 'idle in transaction'
                   AND f.state_change <= pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => %(idle_seconds)s::float8)
               ) THEN 'at work'
               ELSE 'may end'
           END AS verdict
    FROM found AS f
    WHERE extract(epoch FROM f.xact_start) = %(started)s::numeric
)
SELECT current_user::text, EXISTS (SELECT FROM found AS f WHERE NOT f.visible), t.application_name, t.role, t.state, t.seconds,
       t.idle_seconds, t.verdict,
       CASE WHEN %(act)s AND t.verdict = 'may end' THEN pg_catalog.pg_terminate_backend(t.pid, %(wait_ms)s) END AS ended
FROM (SELECT) AS one
LEFT JOIN target AS t ON true
