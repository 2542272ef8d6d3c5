-- The schema of the extension pgstattuple, where it is installed and this role may call its pgstatindex.
SELECT n.nspname::text
FROM pg_extension AS e
JOIN pg_depend AS d ON d.refclassid = 'pg_catalog.pg_extension'::regclass::oid AND d.refobjid = e.oid AND d.deptype = 'e'
    AND d.classid = 'pg_catalog.pg_proc'::regclass::oid
JOIN pg_proc AS p ON p.oid = d.objid AND p.proname = 'pgstatindex' AND p.proargtypes[0] = 'pg_catalog.regclass'::regtype::oid
JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE e.extname = 'pgstattuple' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
