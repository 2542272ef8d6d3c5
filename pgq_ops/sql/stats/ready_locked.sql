-- The first %(limit)s ready rows in the claim's order: how many, and of those that may be locked the xmax and the table.
-- xmax is the number of the transaction that locked or changed the row last, or of a group of several (a multixact). One
-- that is older than each running transaction is over; a group has a number below the next one.
SELECT pg_catalog.count(*),
       pg_catalog.array_agg(ready.pgq_ops_xmax::text::bigint) FILTER (WHERE pgq_ops_recent),
       pg_catalog.array_agg(ready.pgq_ops_table::bigint) FILTER (WHERE pgq_ops_recent)
FROM (
    SELECT j.xmax AS pgq_ops_xmax, j.tableoid AS pgq_ops_table,
           j.xmax <> '0'::xid
           AND (pg_catalog.age(j.xmax) <= pg_catalog.age(pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::xid)
                OR pg_catalog.mxid_age(j.xmax) BETWEEN 1 AND 2147483646) AS pgq_ops_recent
    FROM {table} AS j
    WHERE {is_pending} AND {is_due}
    {in_order}
    LIMIT %(limit)s
) AS ready
