-- Who runs the transactions of some numbers (%(xids)s, bigint array, 64 bits wide), each of which holds row locks on a
-- table (%(relations)s, a parallel array of oids): its session, or its gid if it is prepared, and the number of its own,
-- the transaction's first. Ages in seconds.
-- A transaction holds the lock on its numbers. A released savepoint's number nobody holds any more: it belongs to one
-- that began before it and holds locks on the table; where several do, nobody is named.
WITH lock AS MATERIALIZED (
    SELECT l.virtualtransaction AS owner, l.pid, l.relation, wide.xid
    FROM pg_locks AS l
    CROSS JOIN (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint AS next) AS now
    CROSS JOIN LATERAL (
        SELECT now.next + ((l.transactionid::text::bigint - now.next + 2147483648) & 4294967295) - 2147483648 AS xid
    ) AS wide
    WHERE l.granted
      AND (l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
           OR l.locktype = 'relation' AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
              AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = pg_catalog.current_database()))
), running AS MATERIALIZED (
    SELECT l.owner, pg_catalog.min(l.pid) AS pid, pg_catalog.min(l.xid) AS xid, pg_catalog.array_agg(l.xid) AS numbers
    FROM lock AS l
    WHERE l.xid IS NOT NULL
    GROUP BY l.owner
)
SELECT w.xid, t.pid, COALESCE(p.gid, a.application_name), COALESCE(p.owner, a.usename)::text,
       CASE WHEN p.gid IS NULL THEN a.state ELSE 'prepared' END,
       extract(epoch FROM pg_catalog.clock_timestamp() - COALESCE(p.prepared, a.xact_start))::float8,
       extract(epoch FROM a.xact_start)::text,
       COALESCE((SELECT u.rolsuper FROM pg_roles AS u WHERE u.rolname = a.usename), false),
       t.xid
FROM unnest(%(xids)s::bigint[], %(relations)s::oid[]) AS w(xid, relation)
CROSS JOIN LATERAL (
    SELECT r.owner FROM running AS r WHERE w.xid = ANY (r.numbers)
    UNION ALL
    SELECT pg_catalog.min(r.owner)
    FROM running AS r
    WHERE r.xid < w.xid
      AND EXISTS (SELECT FROM lock AS l WHERE l.owner = r.owner AND l.relation = w.relation)
      AND NOT EXISTS (SELECT FROM running AS o WHERE w.xid = ANY (o.numbers))
    HAVING pg_catalog.count(*) = 1
) AS found
JOIN running AS t ON t.owner = found.owner
LEFT JOIN pg_stat_activity AS a ON a.pid = t.pid
LEFT JOIN pg_prepared_xacts AS p ON t.pid IS NULL AND p.transaction::text::bigint = t.xid & 4294967295
