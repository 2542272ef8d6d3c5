-- Of the numbers in rows' xmax (%(numbers)s, bigint array) of some tables (%(relations)s, a parallel array of oids): the
-- running transactions and savepoints that are meant, with their own numbers, 64 bits wide.
-- 32 bits mean the number that is nearest to now. A group of transactions (multixact) is told by the table's own range
-- of such numbers; one in it that as a transaction's would be yet to come is none, and pg_xact_status would refuse it.
SELECT w.number, w.relation, wide.xid
FROM unnest(%(numbers)s::bigint[], %(relations)s::bigint[]) AS w(number, relation)
CROSS JOIN LATERAL (SELECT w.number::text::xid AS id) AS short
CROSS JOIN (
    SELECT pg_catalog.pg_snapshot_xmin(s)::text::bigint AS oldest, pg_catalog.pg_snapshot_xmax(s)::text::bigint AS next
    FROM pg_catalog.pg_current_snapshot() AS s
) AS now
CROSS JOIN LATERAL (
    SELECT CASE WHEN pg_catalog.mxid_age(short.id) BETWEEN 1 AND pg_catalog.mxid_age(c.relminmxid) THEN short.id END AS id
    FROM pg_class AS c
    WHERE c.oid = w.relation::oid
    OFFSET 0
) AS several
CROSS JOIN LATERAL (
    SELECT short.id, several.id IS NULL
    UNION ALL
    SELECT m.xid, true FROM pg_catalog.pg_get_multixact_members(several.id) AS m
) AS last(id, certain)
CROSS JOIN LATERAL (
    SELECT now.next + ((last.id::text::bigint - now.next + 2147483648) & 4294967295) - 2147483648 AS xid
) AS wide
WHERE CASE WHEN wide.xid >= now.oldest AND (last.certain OR wide.xid < now.next)
           THEN pg_catalog.pg_xact_status(wide.xid::text::xid8) = 'in progress' END
