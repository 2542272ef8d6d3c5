-- What sessions of roles (%(roles)s, an array of oids) in this database begin with, for some settings (%(names)s, a text
-- array; those that the server does not have are left out). One row a role and setting: its `unit`, and its value as
-- written with where it comes from. NULL: the server's own value cannot be told, since this role has one of its own.
WITH written AS (
    SELECT w.setrole, w.setdatabase, pg_catalog.split_part(e.entry, '=', 1) AS name,
           pg_catalog.substr(e.entry, pg_catalog.strpos(e.entry, '=') + 1) AS value
    FROM pg_db_role_setting AS w CROSS JOIN LATERAL pg_catalog.unnest(w.setconfig) AS e(entry)
    WHERE w.setdatabase IN (0::oid, (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database()))
), server AS (
    SELECT s.name, COALESCE(s.unit, '') AS unit,
           CASE WHEN NOT EXISTS (SELECT FROM written AS w JOIN pg_roles AS r ON r.oid = w.setrole
                                 WHERE w.name = s.name AND r.rolname = session_user) THEN s.reset_val END AS value
    FROM pg_settings AS s
    WHERE s.name = ANY (%(names)s::text[])
)
SELECT roles.oid::bigint, server.name, server.unit, COALESCE(own.value, server.value), COALESCE(own.source, 'server')
FROM pg_catalog.unnest(%(roles)s::oid[]) AS roles(oid)
CROSS JOIN server
LEFT JOIN LATERAL (
    SELECT w.value,
           CASE WHEN w.setrole <> 0::oid AND w.setdatabase <> 0::oid THEN 'role in database' WHEN w.setrole <> 0::oid THEN 'role'
                WHEN w.setdatabase <> 0::oid THEN 'database' ELSE 'all roles' END AS source
    FROM written AS w
    WHERE w.name = server.name AND w.setrole IN (0::oid, roles.oid)
    ORDER BY (w.setrole <> 0::oid) DESC, (w.setdatabase <> 0::oid) DESC
    LIMIT 1
) AS own ON true
