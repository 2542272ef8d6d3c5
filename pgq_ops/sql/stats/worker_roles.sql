-- The roles that can work a job table (%(oid)s): they may log in and update it. Superusers only where sessions of theirs
-- are here; the role of pgq-ops, this or another session's, only where it owns the table or others use it too.
-- `sees_all_rows`: no row-level security applies to the role. `policies`: the commands (letters of polcmd) for which a
-- permissive policy does. `remote_sessions`: those from another address; NULL where this role may not see addresses.
WITH sessions AS (
    SELECT a.usesysid AS oid, bool_or(o.ours) AS ours, count(*) FILTER (WHERE NOT o.ours) AS here,
           count(*) FILTER (WHERE NOT o.ours AND NOT a.client_addr <<= ANY ('{{127.0.0.0/8,::1/128}}'::inet[])) AS remote
    FROM pg_stat_activity AS a
    CROSS JOIN LATERAL (SELECT a.pid = pg_backend_pid() OR a.application_name LIKE 'pgq-ops/%%' AS ours) AS o
    WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
      AND COALESCE(a.backend_type, 'client backend') = 'client backend'
    GROUP BY a.usesysid
)
SELECT r.oid::bigint, r.rolname::text, r.rolsuper, COALESCE(s.here, 0)::int,
       CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN COALESCE(s.remote, 0)::int END,
       NOT c.relrowsecurity OR r.rolsuper OR r.rolbypassrls
           OR (NOT c.relforcerowsecurity AND pg_has_role(r.oid, c.relowner, 'USAGE')) AS sees_all_rows,
       ARRAY(SELECT DISTINCT p.polcmd::text
             FROM pg_policy AS p
             WHERE p.polrelid = c.oid AND p.polpermissive
               AND EXISTS (SELECT FROM unnest(p.polroles) AS w(oid)
                           WHERE w.oid = 0 OR pg_has_role(r.oid, w.oid, 'USAGE'))) AS policies
FROM pg_class AS c
CROSS JOIN pg_roles AS r
LEFT JOIN sessions AS s ON s.oid = r.oid
WHERE c.oid = %(oid)s AND r.rolcanlogin
  AND (s.here > 0 OR NOT r.rolsuper AND (r.oid = c.relowner OR s.ours IS NOT TRUE))
  AND has_any_column_privilege(r.oid, c.oid, 'UPDATE')
ORDER BY s.here DESC NULLS LAST, r.rolname
