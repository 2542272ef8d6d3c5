-- A role by its name (%(role)s): whether it is a superuser, and whether it sees all sessions.
SELECT r.rolsuper AS is_superuser, pg_has_role(r.oid, 'pg_monitor', 'USAGE') AS monitors
FROM pg_roles AS r
WHERE r.rolname = %(role)s
