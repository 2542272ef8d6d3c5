-- What can keep VACUUM from removing dead rows: sessions with a transaction id or a snapshot (this one is among them,
-- and alone has `visible`: whether the role sees others' states and times, which are NULL without), prepared
-- transactions, replication slots; also who sends WAL and who vacuums, by pid. No more rows than the server has places
-- for. `began` in epoch seconds as text; `xid_age`, `own_age` (of a transaction that wrote) and `catalog_age` in
-- transactions; `database` by name (1262 is pg_database, which takes longer to join). Left out: parallel workers, which
-- hold nothing that their leader does not; a lazy VACUUM that still waits for its lock (it holds nothing, and is not
-- among those that vacuum yet); slots that are invalidated. `inactive_since` is there from 17 on.
SELECT 'session', a.pid, a.application_name, pg_get_userbyid(a.usesysid)::text, a.state, a.backend_type,
       extract(epoch FROM a.xact_start)::text, greatest(age(a.backend_xid), age(a.backend_xmin)), age(a.backend_xid),
       NULL::int, (pg_identify_object(1262, a.datid, 0)).name, pg_has_role(a.usesysid, 10, 'USAGE'),
       CASE WHEN a.pid = pg_backend_pid() THEN pg_has_role('pg_read_all_stats', 'USAGE') END
FROM pg_stat_get_activity(NULL) AS a
WHERE (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL OR a.pid = pg_backend_pid())
  AND a.backend_type IS DISTINCT FROM 'parallel worker'
  AND (a.wait_event_type = 'Lock' AND a.query ~* '^\s*vacuum\M' AND a.query !~* '\mfull\M') IS NOT TRUE
UNION ALL
SELECT 'prepared', NULL, p.gid, pg_get_userbyid(p.ownerid)::text, NULL, NULL, extract(epoch FROM p.prepared)::text,
       age(p.transaction), age(p.transaction), NULL, (pg_identify_object(1262, p.dbid, 0)).name, NULL, NULL
FROM pg_prepared_xact() AS p
UNION ALL
SELECT s.slot_type, s.active_pid, s.slot_name::text, NULL, NULL, NULL,
       extract(epoch FROM (to_jsonb(s) ->> 'inactive_since')::timestamptz)::text, age(s.xmin), NULL,
       age(s.catalog_xmin), NULL, NULL, NULL
FROM pg_get_replication_slots() AS s
WHERE s.wal_status IS DISTINCT FROM 'lost'
UNION ALL
SELECT 'sender', w.pid, NULL, NULL, w.state, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM pg_stat_get_wal_senders() AS w
UNION ALL
SELECT 'vacuum', v.pid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM pg_stat_get_progress_info('VACUUM') AS v
