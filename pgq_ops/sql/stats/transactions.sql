-- The client sessions of this database with an open transaction, the longest first, our own left out, and those that
-- vacuum or build an index concurrently: these take hours by their nature, and are no transaction of a client's. Each
-- row begins with whether the role sees other sessions, how many of them wait for a lock, and how many clients'
-- sessions do not tell what they do (track_activities is off); without sessions there is one row with nothing else.
-- Ours are those of our own role that are called so: a name anybody may take. A start is exact (epoch seconds as text);
-- durations are seconds by the database's clock. The function behind pg_stat_activity is asked once: two looks at the
-- view take thrice as long.
WITH seen AS MATERIALIZED (
    SELECT s.pid, s.usesysid, s.application_name, s.client_addr, s.state, s.xact_start, s.state_change, s.backend_xid,
           s.backend_xmin, s.query, s.backend_type, s.wait_event_type
    FROM pg_catalog.pg_stat_get_activity(NULL) AS s
    WHERE s.datid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
      AND (s.application_name LIKE 'pgq-ops/%%'
           AND s.usesysid = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = session_user)) IS NOT TRUE
)
SELECT whole.visible, whole.waiting, whole.hidden, a.pid, extract(epoch FROM a.xact_start)::text, a.application_name,
       pg_catalog.pg_get_userbyid(a.usesysid)::text, COALESCE(pg_catalog.host(a.client_addr), ''), a.state,
       greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start))::float8,
       CASE WHEN a.state = 'idle in transaction'
            THEN greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - a.state_change))::float8 END,
       greatest(pg_catalog.age(a.backend_xid), pg_catalog.age(a.backend_xmin)),
       COALESCE((SELECT u.rolsuper FROM pg_roles AS u WHERE u.oid = a.usesysid), false), a.query
FROM (
    SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') AS visible,
           (SELECT pg_catalog.count(*) FROM seen AS w WHERE w.wait_event_type = 'Lock')::int AS waiting,
           (SELECT pg_catalog.count(*) FROM seen AS w WHERE w.state = 'disabled' AND w.backend_type = 'client backend'
            AND w.pid <> pg_catalog.pg_backend_pid())::int AS hidden
) AS whole
LEFT JOIN seen AS a
    ON a.backend_type = 'client backend' AND a.xact_start IS NOT NULL AND a.pid <> pg_catalog.pg_backend_pid()
       AND a.pid <> ALL (ARRAY(
           SELECT v.pid FROM pg_stat_progress_vacuum AS v
           UNION ALL
           SELECT c.pid FROM pg_stat_progress_create_index AS c WHERE c.command LIKE '%% CONCURRENTLY'
       ))
ORDER BY a.xact_start
LIMIT 1000
