-- This role, and whether it has all of %(privileges)s (text array) on what pgq-ops remembers of settings.
SELECT current_user::text,
       (SELECT pg_catalog.bool_and(pg_catalog.has_table_privilege('pgq_ops.setting', p.name))
        FROM pg_catalog.unnest(%(privileges)s::text[]) AS p(name))
