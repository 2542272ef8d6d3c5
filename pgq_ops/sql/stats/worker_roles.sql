-- The roles that can work a job table (%(oid)s): they may log in and update it. Superusers only where sessions of theirs
-- are here. The role of pgq-ops only where it owns the table or others use it too: that of this or another session of
-- ours, one that was granted the schema pgq_ops, one that may update just what the reaper writes (%(written)s, a text
-- array of columns): no worker could count an attempt with that.
-- `sees_all_rows`: no row-level security applies to the role. `policies`: the commands (letters of polcmd) for which a
-- permissive policy does.
WITH sessions AS (
    SELECT a.usesysid AS oid, pg_catalog.bool_or(o.ours) AS ours, pg_catalog.count(*) FILTER (WHERE NOT o.ours) AS here
    FROM pg_stat_activity AS a
    CROSS JOIN LATERAL (SELECT a.pid = pg_catalog.pg_backend_pid() OR a.application_name LIKE 'pgq-ops/%%' AS ours) AS o
    WHERE a.datname = pg_catalog.current_database() AND a.usesysid IS NOT NULL
      AND COALESCE(a.backend_type, 'client backend') = 'client backend'
    GROUP BY a.usesysid
)
SELECT r.oid::bigint, r.rolname::text, r.rolsuper,
       NOT c.relrowsecurity OR r.rolsuper OR r.rolbypassrls
           OR (NOT c.relforcerowsecurity AND pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE')) AS sees_all_rows,
       ARRAY(SELECT DISTINCT p.polcmd::text
             FROM pg_policy AS p
             WHERE p.polrelid = c.oid AND p.polpermissive
               AND EXISTS (SELECT FROM pg_catalog.unnest(p.polroles) AS w(oid)
                           WHERE w.oid = 0::oid OR pg_catalog.pg_has_role(r.oid, w.oid, 'USAGE'))) AS policies
FROM pg_class AS c
CROSS JOIN pg_roles AS r
LEFT JOIN sessions AS s ON s.oid = r.oid
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM pg_namespace AS n CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) AS g
                   WHERE n.nspname = 'pgq_ops' AND g.grantee = r.oid AND g.grantee <> n.nspowner)
        OR EXISTS (SELECT FROM pg_attribute AS b
                   WHERE b.attrelid = c.oid AND b.attnum > 0 AND NOT b.attisdropped
                     AND pg_catalog.has_column_privilege(r.oid, c.oid, b.attnum, 'UPDATE')
                   HAVING pg_catalog.array_agg(b.attname::text) @> %(written)s::text[]
                      AND pg_catalog.array_agg(b.attname::text) <@ %(written)s::text[]) AS ours
) AS granted
WHERE c.oid = %(oid)s::oid AND r.rolcanlogin
  AND (s.here > 0 OR NOT r.rolsuper AND (r.oid = c.relowner OR s.ours IS NOT TRUE AND NOT granted.ours))
  AND pg_catalog.has_any_column_privilege(r.oid, c.oid, 'UPDATE')
ORDER BY s.here DESC NULLS LAST, r.rolname
