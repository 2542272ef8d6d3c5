-- The columns of a table (%(oid)s) with their types: domains followed to their base, enum labels in order.
WITH RECURSIVE typed AS (
    SELECT a.attnum, a.attname, a.attnotnull, a.attgenerated, a.attidentity, a.atttypid, a.atttypmod, a.atthasdef,
           a.atttypid AS base, a.atttypmod AS base_typmod, a.attnotnull AS never_null
    FROM pg_attribute AS a
    WHERE a.attrelid = %(oid)s::oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT d.attnum, d.attname, d.attnotnull, d.attgenerated, d.attidentity, d.atttypid, d.atttypmod, d.atthasdef,
           t.typbasetype, t.typtypmod, d.never_null OR t.typnotnull
    FROM typed AS d JOIN pg_type AS t ON t.oid = d.base AND t.typtype = 'd'
)
SELECT d.attname::text AS name,
       pg_catalog.format_type(d.atttypid, d.atttypmod) AS type_name,
       pg_catalog.format_type(d.base, -1) AS base_type,
       CASE WHEN d.base IN ('varchar'::regtype, 'bpchar'::regtype) AND d.base_typmod > 4 THEN d.base_typmod - 4 END AS length,
       d.never_null AS not_null,
       d.attgenerated::text <> '' AS generated,
       d.attidentity::text AS identity,
       d.atthasdef OR d.attidentity::text <> '' AS has_default,
       t.typtype::text AS type_kind,
       CASE WHEN t.typtype = 'e' THEN ARRAY(SELECT e.enumlabel::text FROM pg_enum AS e
                                            WHERE e.enumtypid = d.base ORDER BY e.enumsortorder) END AS labels,
       pg_catalog.has_column_privilege(%(oid)s::oid, d.attnum, 'SELECT') AS readable,
       pg_catalog.has_column_privilege(%(oid)s::oid, d.attnum, 'UPDATE') AS updatable,
       pg_catalog.has_column_privilege(%(oid)s::oid, d.attnum, 'INSERT') AS insertable
FROM typed AS d JOIN pg_type AS t ON t.oid = d.base
WHERE t.typtype <> 'd'
ORDER BY d.attnum
