-- The relations of a name, in one schema (%(schema)s) or in all (NULL); those on the search path first.
-- %(name)s is the name exactly as in the catalog. Reads pg_class, so that no USAGE on the schema is needed.
SELECT c.oid::bigint AS oid, n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind,
       c.relpersistence::text AS persistence, c.relispartition AS is_partition,
       pg_catalog.pg_get_userbyid(c.relowner)::text AS owner,
       pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS schema_usable,
       c.relrowsecurity AS row_security,
       CASE WHEN pg_catalog.has_schema_privilege(n.oid, 'USAGE') THEN pg_catalog.row_security_active(c.oid)
            ELSE false END AS row_security_active,
       n.nspname = ANY (pg_catalog.current_schemas(false)) AS on_search_path
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relname = %(name)s
  AND (%(schema)s::text IS NULL OR n.nspname = %(schema)s)
  AND (%(schema)s::text IS NOT NULL OR n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast'))
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(false), n.nspname) NULLS LAST, n.nspname
