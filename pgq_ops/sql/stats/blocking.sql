-- The sessions of this database that wait for a lock (at most 1,000), and whoever is in their way, in one list:
-- pid (0: a prepared transaction), application or gid, user, state, seconds since the transaction began, its exact start
-- (epoch seconds as text), whether it is a client's, whether its role is a superuser; of a waiter its seconds, the
-- lock's mode and what it is of, and whom it waits for, which is asked for the 100 that wait longest; the oids of the
-- tables that it waits for or holds locks on. Waits for no lock itself.
WITH seen AS MATERIALIZED (
    SELECT s.pid, s.datid, s.usesysid, s.application_name, s.state, s.xact_start, s.backend_type
    FROM pg_catalog.pg_stat_get_activity(NULL) AS s
),
lock AS MATERIALIZED (
    SELECT l.pid, l.locktype, l.database, l.relation, l.transactionid, l.virtualtransaction, l.mode, l.granted,
           l.waitstart
    FROM pg_locks AS l
),
waiter AS MATERIALIZED (
    SELECT w.pid, w.locktype, w.relation, w.transactionid, w.mode, w.waitstart,
           pg_catalog.row_number() OVER (ORDER BY w.waitstart) AS place
    FROM lock AS w
    JOIN seen AS s ON s.pid = w.pid
    WHERE NOT w.granted
      AND (s.application_name LIKE 'pgq-ops/%%'
           AND s.usesysid = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = session_user)) IS NOT TRUE
      AND s.datid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
    ORDER BY w.waitstart
    LIMIT 1000
),
blocked AS MATERIALIZED (
    SELECT w.pid, pg_catalog.pg_blocking_pids(w.pid) AS blocked_by FROM waiter AS w WHERE w.place <= 100
),
concerned AS MATERIALIZED (
    SELECT w.pid FROM waiter AS w UNION SELECT pg_catalog.unnest(b.blocked_by) FROM blocked AS b
),
held AS MATERIALIZED (
    SELECT COALESCE(l.pid::text, l.virtualtransaction) AS holder, pg_catalog.array_agg(DISTINCT c.oid::bigint) AS tables
    FROM lock AS l
    JOIN pg_class AS c ON c.oid = l.relation AND c.relkind IN ('r', 'p', 'm', 'f')
    WHERE l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database())
      AND (l.pid IS NULL OR l.pid IN (SELECT n.pid FROM concerned AS n))
    GROUP BY 1
),
prepared AS MATERIALIZED (
    SELECT p.gid, p.owner, p.prepared, l.virtualtransaction AS holder
    FROM pg_prepared_xacts AS p
    JOIN lock AS l ON l.pid IS NULL AND l.locktype = 'transactionid' AND l.transactionid = p.transaction
),
row_of AS MATERIALIZED (
    SELECT l.pid, pg_catalog.min(l.relation::bigint) AS relation FROM lock AS l WHERE l.locktype = 'tuple' AND l.granted GROUP BY 1
)
SELECT s.pid, s.application_name, COALESCE(pg_catalog.pg_get_userbyid(s.usesysid)::text, ''), COALESCE(s.state, s.backend_type, ''),
       greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - s.xact_start))::float8,
       extract(epoch FROM s.xact_start)::text, s.backend_type = 'client backend',
       COALESCE((SELECT u.rolsuper FROM pg_roles AS u WHERE u.oid = s.usesysid), false),
       w.pid IS NOT NULL, greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - w.waitstart))::float8, w.mode,
       CASE w.locktype
            WHEN 'relation' THEN t.name
            WHEN 'tuple' THEN 'a row of ' || t.name
            WHEN 'extend' THEN 'the end of ' || t.name
            WHEN 'transactionid' THEN COALESCE('a row of ' || t.name, 'what another transaction has written')
            WHEN 'virtualxid' THEN 'the end of another transaction'
            WHEN 'advisory' THEN 'an advisory lock'
            ELSE w.locktype
       END,
       b.blocked_by, h.tables
FROM concerned AS n
JOIN seen AS s ON s.pid = n.pid
LEFT JOIN waiter AS w ON w.pid = s.pid
LEFT JOIN blocked AS b ON b.pid = s.pid
LEFT JOIN held AS h ON h.holder = s.pid::text
LEFT JOIN row_of AS r ON r.pid = w.pid AND w.locktype = 'transactionid'
LEFT JOIN (
    SELECT c.oid, o.nspname || '.' || c.relname AS name
    FROM pg_class AS c
    JOIN pg_namespace AS o ON o.oid = c.relnamespace
) AS t ON t.oid = COALESCE(w.relation, r.relation)
UNION ALL
SELECT 0, p.gid, p.owner::text, 'prepared', greatest(0, extract(epoch FROM pg_catalog.clock_timestamp() - p.prepared))::float8,
       NULL, false, false, false, NULL, NULL, NULL, NULL, h.tables
FROM prepared AS p
LEFT JOIN held AS h ON h.holder = p.holder
WHERE EXISTS (
    SELECT FROM lock AS k
    JOIN waiter AS w ON w.locktype = k.locktype AND (w.relation = k.relation OR w.transactionid = k.transactionid)
    JOIN blocked AS b ON b.pid = w.pid AND 0 = ANY (b.blocked_by)
    WHERE k.granted AND k.pid IS NULL AND k.virtualtransaction = p.holder
)
