-- The roles that can work a job table (%(oid)s): they may log in and update it. Superusers only where sessions of theirs
-- are here, and this role only where it owns the table or others use it too; sessions of pgq-ops do not count.
-- `sees_all_rows`: no row-level security applies to the role. `policies`: the commands (letters of polcmd) for which a
-- permissive policy does. `remote_sessions`: those from another address; NULL where this role may not see addresses.
WITH sessions AS (
    SELECT a.usesysid AS oid, count(*) AS here,
           CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
                THEN count(*) FILTER (WHERE NOT a.client_addr <<= ANY ('{{127.0.0.0/8,::1/128}}'::inet[])) END AS remote
    FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND a.pid <> pg_backend_pid()
      AND COALESCE(a.backend_type, 'client backend') = 'client backend' AND a.application_name NOT LIKE 'pgq-ops/%%'
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
  AND (NOT r.rolsuper OR s.here > 0)
  AND (r.rolname <> current_user OR s.here > 0 OR r.oid = c.relowner)
  AND has_any_column_privilege(r.oid, c.oid, 'UPDATE')
ORDER BY s.here DESC NULLS LAST, r.rolname
