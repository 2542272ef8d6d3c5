-- What can keep VACUUM from removing dead rows: sessions with a transaction id or a snapshot, or that do not tell what
-- they do (`disabled`; this session is among them, and alone has `visible`: whether the role sees others' states and
-- times, which are NULL without), prepared transactions, replication slots; also who sends WAL and who vacuums, by pid;
-- a row `recovery` on a standby. No more rows than the server has places for. `began` in epoch seconds as text;
-- `xid_age`, `own_age` (of a transaction that wrote) and `catalog_age` in transactions; `database` by name (1262 is
-- pg_database, which takes longer to join). Left out: parallel workers, which hold nothing that their leader does not;
-- a lazy VACUUM that still waits for its lock (it holds nothing, and is not among those that vacuum yet); slots that
-- are invalidated. `inactive_since` is there from 17 on.
SELECT 'session', a.pid, a.application_name, pg_catalog.pg_get_userbyid(a.usesysid)::text, a.state, a.backend_type,
       extract(epoch FROM a.xact_start)::text,
       greatest(pg_catalog.age(a.backend_xid), pg_catalog.age(a.backend_xmin)), pg_catalog.age(a.backend_xid),
       NULL::int, (pg_catalog.pg_identify_object(1262, a.datid, 0)).name, pg_catalog.pg_has_role(a.usesysid, 10, 'USAGE'),
       CASE WHEN a.pid = pg_catalog.pg_backend_pid() THEN pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') END
FROM pg_catalog.pg_stat_get_activity(NULL) AS a
WHERE (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL OR a.pid = pg_catalog.pg_backend_pid()
       OR a.state = 'disabled')
  AND a.backend_type IS DISTINCT FROM 'parallel worker'
  AND (a.wait_event_type = 'Lock' AND a.query ~* '^\s*vacuum\M' AND a.query !~* '\mfull\M') IS NOT TRUE
UNION ALL
SELECT 'prepared', NULL, p.gid, pg_catalog.pg_get_userbyid(p.ownerid)::text, NULL, NULL, extract(epoch FROM p.prepared)::text,
       pg_catalog.age(p.transaction), pg_catalog.age(p.transaction), NULL, (pg_catalog.pg_identify_object(1262, p.dbid, 0)).name, NULL, NULL
FROM pg_catalog.pg_prepared_xact() AS p
UNION ALL
SELECT s.slot_type, s.active_pid, s.slot_name::text, NULL, NULL, NULL,
       extract(epoch FROM (pg_catalog.to_jsonb(s) ->> 'inactive_since'::text)::timestamptz)::text, pg_catalog.age(s.xmin), NULL,
       pg_catalog.age(s.catalog_xmin), NULL, NULL, NULL
FROM pg_catalog.pg_get_replication_slots() AS s
WHERE s.wal_status IS DISTINCT FROM 'lost'
UNION ALL
SELECT 'recovery', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
WHERE pg_catalog.pg_is_in_recovery()
UNION ALL
SELECT 'sender', w.pid, NULL, NULL, w.state, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM pg_catalog.pg_stat_get_wal_senders() AS w
UNION ALL
SELECT 'vacuum', v.pid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM pg_catalog.pg_stat_get_progress_info('VACUUM') AS v
