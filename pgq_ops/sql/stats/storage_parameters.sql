-- The storage parameters of a job table's (%(oid)s) leaves and their TOAST tables, as arrays of `name=value`; whether
-- there is a TOAST table; the owner; whether this role may change them, itself or as %(owner_role)s (a name, or NULL).
-- `closed`: whether the leaf, or what it is a part of, ends before now by the bounds; NULL where they do not tell.
-- Times without a zone are %(zone)s. A bound has no columns, so that without its table it is printed without its lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid, NULL::boolean AS closed
    UNION ALL
    SELECT part.oid,
           CASE WHEN tree.closed OR part.closed THEN true ELSE coalesce(part.closed, tree.closed) END
    FROM tree
    JOIN pg_partitioned_table AS p ON p.partrelid = tree.oid
    LEFT JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] AND p.partstrat = 'r'
    CROSS JOIN LATERAL (
        -- OFFSET keeps this a look by index, however many partitions other tables have.
        SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = tree.oid AND NOT i.inhdetachpending OFFSET 0
    ) AS child
    CROSS JOIN LATERAL (
        SELECT c.oid, b.bound, substring(b.bound FROM ' TO \(''((?:[^'']|'''')*)''') AS upper
        FROM pg_class AS c
        CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(c.relpartbound, 0::oid) AS bound) AS b
        WHERE c.oid = child.inhrelid
    ) AS named
    CROSS JOIN LATERAL (
        SELECT named.oid, CASE
            WHEN named.bound = 'DEFAULT' THEN false
            WHEN a.atttypid IN ('pg_catalog.timestamptz'::regtype::oid, 'pg_catalog.timestamp'::regtype::oid,
                                'pg_catalog.date'::regtype::oid)
                AND named.bound LIKE '%% TO (MAXVALUE%%' THEN false
            WHEN a.atttypid = 'pg_catalog.timestamptz'::regtype::oid THEN named.upper::timestamptz <= pg_catalog.now()
            WHEN a.atttypid = 'pg_catalog.timestamp'::regtype::oid
                THEN named.upper::timestamp <= pg_catalog.timezone(%(zone)s, pg_catalog.now())
            -- Of several columns the first may be the bound's own.
            WHEN a.atttypid = 'pg_catalog.date'::regtype::oid
                THEN named.upper::date + (p.partnatts > 1)::int <= pg_catalog.timezone(%(zone)s, pg_catalog.now())::date
        END AS closed
    ) AS part
), owner_role AS (
    -- From 16 on a member may be one who cannot become the role.
    SELECT r.oid, pg_catalog.pg_has_role(r.oid, CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000
                                                     THEN 'SET' ELSE 'MEMBER' END) AS settable
    FROM pg_roles AS r WHERE r.rolname = %(owner_role)s::text
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.reloptions, t.reloptions, t.oid IS NOT NULL,
       pg_catalog.pg_get_userbyid(c.relowner)::text,
       (pg_catalog.pg_has_role(c.relowner, 'USAGE') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))
           OR EXISTS (SELECT FROM owner_role AS o
                      WHERE o.settable AND pg_catalog.pg_has_role(o.oid, c.relowner, 'USAGE')
                        AND pg_catalog.has_schema_privilege(o.oid, n.oid, 'USAGE')),
       tree.closed
FROM tree
JOIN pg_class AS c ON c.oid = tree.oid AND c.relkind = 'r'
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
ORDER BY n.nspname, c.relname
