-- The column %(column)s of a table (%(oid)s): its type without a domain, and the sequence that numbers it, if one does:
-- its name, its largest value, whether it begins anew after it, its last value (NULL where it was never used, or this
-- role may not read it, which `readable` tells). `indexed`: an index begins with the column. Waits for no lock on the table.
WITH RECURSIVE number AS (
    SELECT a.attrelid, a.attnum, a.atttypid AS type
    FROM pg_attribute AS a
    WHERE a.attrelid = %(oid)s::oid AND a.attname = %(column)s AND NOT a.attisdropped
    UNION ALL
    SELECT number.attrelid, number.attnum, t.typbasetype
    FROM number JOIN pg_type AS t ON t.oid = number.type AND t.typtype = 'd'
), sequences AS (
    SELECT d.objid AS oid
    FROM number JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = number.attrelid
                                   AND d.refobjsubid = number.attnum AND d.classid = 'pg_class'::regclass::oid
    WHERE d.deptype IN ('i', 'a')
    UNION
    SELECT d.refobjid
    FROM number
    JOIN pg_attrdef AS f ON f.adrelid = number.attrelid AND f.adnum = number.attnum
    JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass::oid AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass::oid
)
SELECT pg_catalog.format_type(number.type, -1), n.nspname::text, c.relname::text, s.seqmax, s.seqcycle,
       CASE WHEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT, USAGE') THEN pg_catalog.pg_sequence_last_value(c.oid) END,
       COALESCE(pg_catalog.has_sequence_privilege(c.oid, 'SELECT, USAGE'), false),
       EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = number.attrelid AND i.indisvalid AND i.indpred IS NULL
               AND (i.indkey::int2[])[0] = number.attnum
               AND i.indexrelid IN (SELECT x.oid FROM pg_class AS x JOIN pg_am AS m ON m.oid = x.relam
                                    WHERE m.amname = 'btree'))
FROM number
JOIN pg_type AS t ON t.oid = number.type AND t.typtype <> 'd'
LEFT JOIN (sequences JOIN pg_class AS c ON c.oid = sequences.oid AND c.relkind = 'S'
           JOIN pg_sequence AS s ON s.seqrelid = c.oid
           JOIN pg_namespace AS n ON n.oid = c.relnamespace) ON true
ORDER BY c.oid
LIMIT 1
