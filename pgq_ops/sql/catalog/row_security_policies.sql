-- The row-level security policies of a table (%(oid)s) that apply to this role.
-- `everything`: a permissive policy whose USING is true; any other permissive or restrictive one may hide rows.
-- `anything`: a permissive one whose WITH CHECK (USING without one) is true, so that no change is refused.
SELECT p.polname::text AS name, p.polcmd::text AS command,
       p.polpermissive AND COALESCE(pg_catalog.pg_get_expr(p.polqual, p.polrelid), 'true') = 'true' AS everything,
       p.polpermissive AS permissive,
       p.polpermissive
           AND COALESCE(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), pg_catalog.pg_get_expr(p.polqual, p.polrelid), 'true')
               = 'true' AS anything
FROM pg_policy AS p
WHERE p.polrelid = %(oid)s::oid
  AND (p.polroles = '{{0}}'::oid[]
       OR EXISTS (SELECT FROM pg_catalog.unnest(p.polroles) AS r(oid) WHERE r.oid <> 0::oid AND pg_catalog.pg_has_role(r.oid, 'USAGE')))
