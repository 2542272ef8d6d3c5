-- The columns of a table's primary key (%(oid)s) in the key's order, with their types.
SELECT a.attname::text AS name, format_type(a.atttypid, -1) AS type_name
FROM pg_index AS i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, position)
JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %(oid)s AND i.indisprimary AND i.indisvalid AND k.position <= i.indnkeyatts
ORDER BY k.position
