-- Tables (%(oids)s, oid array) as they are now: oid, schema, name, kind, persistence, oid of the TOAST table, parameters
-- of both (`name=value`), owner, whether that is a superuser, this role, and whether it may change the table.
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text, t.oid::bigint,
       c.reloptions, t.reloptions, o.rolname::text, o.rolsuper, current_user::text, pg_catalog.pg_has_role(c.relowner, 'USAGE')
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_roles AS o ON o.oid = c.relowner
LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
WHERE c.oid = ANY (%(oids)s::oid[])
ORDER BY n.nspname, c.relname
