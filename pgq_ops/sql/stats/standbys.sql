-- The standbys that stream from this server. `feeds_back`: its oldest query holds back VACUUM here. Needs pg_monitor to
-- be seen whole: without, `visible` is false.
SELECT s.application_name, s.backend_xmin IS NOT NULL OR l.xmin IS NOT NULL, pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')
FROM pg_stat_replication AS s
LEFT JOIN pg_replication_slots AS l ON l.active_pid = s.pid AND l.slot_type = 'physical'
WHERE COALESCE(s.state, 'streaming') = 'streaming'
  AND NOT EXISTS (SELECT FROM pg_replication_slots AS o WHERE o.active_pid = s.pid AND o.slot_type = 'logical')
ORDER BY s.application_name
