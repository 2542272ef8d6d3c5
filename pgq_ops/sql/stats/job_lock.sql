-- The rows of one id that may be locked: the address, and what stands in xmax (the number of the transaction, or of the
-- group of several, that locked or changed it last), with the table it is in. At most %(limit)s.
SELECT {key_text}, j.xmax::text::bigint, j.tableoid::bigint
FROM {table} AS j
WHERE {condition} AND j.xmax <> '0'::xid
LIMIT %(limit)s
