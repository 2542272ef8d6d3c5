-- Who owns a table (%(oid)s), whether that is a superuser, and whether row-level security is on.
SELECT r.rolname::text AS owner, r.rolsuper AS owner_is_superuser, c.relrowsecurity AS row_security
FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
WHERE c.oid = %(oid)s::oid
