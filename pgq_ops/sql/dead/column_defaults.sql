-- The default expressions of a table's columns (%(oid)s), without identities and generated ones.
-- `computed`: the expression calls something (now(), nextval()), so that its value is not the same for each row.
SELECT a.attname::text, d.text, d.text ~ '\(|^(CURRENT_|LOCALTIME|SESSION_USER|USER)' AS computed
FROM pg_attribute AS a
JOIN pg_attrdef AS ad ON ad.adrelid = a.attrelid AND ad.adnum = a.attnum
CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_expr(ad.adbin, ad.adrelid) AS text) AS d
WHERE a.attrelid = %(oid)s::oid AND NOT a.attisdropped AND a.attgenerated = ''
