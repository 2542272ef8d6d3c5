-- What this role may do with a job table (%(oid)s). %(written)s: the columns that a reap writes, a text array;
-- %(maintain)s: whether the server knows the privilege MAINTAIN.
SELECT r.rolname::text, r.rolsuper, pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'),
       NOT EXISTS (SELECT FROM pg_catalog.unnest(%(written)s::text[]) AS w(name)
                   JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = w.name
                   WHERE NOT pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE')),
       pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.has_table_privilege(c.oid, 'DELETE'),
       pg_catalog.pg_has_role(c.relowner, 'USAGE')
           OR CASE WHEN %(maintain)s::boolean THEN pg_catalog.has_table_privilege(c.oid, %(maintain_name)s) ELSE false END,
       pg_catalog.pg_has_role(c.relowner, 'MEMBER')
FROM pg_class AS c JOIN pg_roles AS r ON r.rolname = current_user
WHERE c.oid = %(oid)s::oid
