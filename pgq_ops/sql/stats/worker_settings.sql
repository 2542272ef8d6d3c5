-- What holds for sessions of the roles that may work on a table (%(oid)s) in this database: those that can log in and may
-- update it, superusers only while they are connected. One row for each of them and each of the settings %(names)s (a
-- text array): the role, its sessions here now (ours left out), the setting, its value, and who set it: `role in
-- database`, `role`, `database`, `all roles`; `server` where none of them did. The value is NULL where it is the
-- server's, and that is hidden by one of this session's own role or database. Settings a version lacks have no row.
WITH workers AS (
    SELECT r.oid, r.rolname, r.rolsuper,
           (SELECT count(*) FROM pg_stat_activity AS a
            WHERE a.usesysid = r.oid AND a.datname = current_database() AND a.application_name NOT LIKE 'pgq-ops/%%') AS sessions
    FROM pg_roles AS r
    WHERE r.rolcanlogin AND (r.rolsuper OR has_any_column_privilege(r.oid, %(oid)s::oid, 'UPDATE'))
), given AS (
    SELECT s.setdatabase, s.setrole, lower(split_part(c.assigned, '=', 1)) AS name,
           substr(c.assigned, strpos(c.assigned, '=') + 1) AS value,
           CASE WHEN s.setdatabase <> 0 AND s.setrole <> 0 THEN 'role in database' WHEN s.setrole <> 0 THEN 'role'
                WHEN s.setdatabase <> 0 THEN 'database' ELSE 'all roles' END AS origin,
           (s.setrole <> 0)::int * 2 + (s.setdatabase <> 0)::int AS rank
    FROM pg_db_role_setting AS s CROSS JOIN LATERAL unnest(s.setconfig) AS c(assigned)
    WHERE s.setdatabase = 0 OR s.setdatabase = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
)
SELECT w.rolname::text, w.sessions::bigint, p.name::text,
       CASE WHEN own.value IS NOT NULL THEN own.value WHEN NOT hidden.it_is THEN p.reset_val END,
       COALESCE(own.origin, 'server')
FROM workers AS w
CROSS JOIN pg_settings AS p
LEFT JOIN LATERAL (SELECT g.value, g.origin FROM given AS g
                   WHERE g.name = p.name AND g.setrole IN (0, w.oid) ORDER BY g.rank DESC LIMIT 1) AS own ON true
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM given AS g JOIN pg_roles AS me ON me.rolname = session_user
                                   WHERE g.name = p.name AND g.setrole IN (0, me.oid)) AS it_is) AS hidden
WHERE p.name = ANY (%(names)s::text[]) AND (NOT w.rolsuper OR w.sessions > 0)
ORDER BY w.rolname, p.name
