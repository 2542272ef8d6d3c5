-- The columns of a table's primary key (%(oid)s) in the key's order, with their types. A plain table with children
-- (INHERITS) shares its key with none of them: there `tableoid` belongs to a row's address.
SELECT s.name, s.type_name
FROM (
    SELECT a.attname::text AS name, pg_catalog.format_type(a.atttypid, -1) AS type_name, k.position
    FROM pg_index AS i
    CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, position)
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = %(oid)s::oid AND i.indisprimary AND i.indisvalid AND k.position <= i.indnkeyatts
    UNION ALL
    SELECT 'tableoid', 'oid', 1000
    FROM pg_class AS c
    WHERE c.oid = %(oid)s::oid AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = c.oid)
      AND EXISTS (SELECT FROM pg_index AS p WHERE p.indrelid = c.oid AND p.indisprimary AND p.indisvalid)
) AS s
ORDER BY s.position
