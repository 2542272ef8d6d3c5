-- A role by its name (%(role)s): whether it is a superuser, whether it sees all sessions, and whether it may end them.
SELECT r.rolsuper AS is_superuser, pg_catalog.pg_has_role(r.oid, 'pg_monitor', 'USAGE') AS monitors,
       pg_catalog.pg_has_role(r.oid, 'pg_signal_backend', 'USAGE') AS signals
FROM pg_roles AS r
WHERE r.rolname = %(role)s
