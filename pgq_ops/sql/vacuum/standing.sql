-- Who of %(roles)s (a text array, in its order; the first is this session's) may VACUUM and ANALYZE a table (%(oid)s) and
-- can be taken on by this session; NULL for none. %(maintain)s: whether the server knows the privilege MAINTAIN. Then the
-- owner; the vacuums and analyzes by hand so far; dead rows, those of its TOAST table, and the live ones there. No row
-- where the table is gone, or has another name (%(schema)s, %(name)s) by now.
SELECT (SELECT r.rolname::text
        FROM pg_catalog.unnest(%(roles)s::text[]) WITH ORDINALITY AS w(name, place)
        JOIN pg_roles AS r ON r.rolname = w.name
        WHERE pg_catalog.pg_has_role(r.oid, 'MEMBER')
          AND (pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE')
               OR pg_catalog.pg_has_role(r.oid, d.datdba, 'USAGE')
               OR CASE WHEN %(maintain)s::boolean THEN pg_catalog.has_table_privilege(r.oid, c.oid, %(maintain_name)s) ELSE false END)
        ORDER BY w.place LIMIT 1),
       pg_catalog.pg_get_userbyid(c.relowner)::text,
       pg_catalog.pg_stat_get_vacuum_count(c.oid), pg_catalog.pg_stat_get_analyze_count(c.oid),
       pg_catalog.pg_stat_get_dead_tuples(c.oid), coalesce(pg_catalog.pg_stat_get_dead_tuples(c.reltoastrelid), 0),
       coalesce(pg_catalog.pg_stat_get_live_tuples(c.reltoastrelid), 0)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_database AS d ON d.datname = pg_catalog.current_database()
WHERE c.oid = %(oid)s::oid AND n.nspname = %(schema)s AND c.relname = %(name)s
