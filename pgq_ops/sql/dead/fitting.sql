-- How many of the first %(limit)s rows of a page, by {size} (bytes) of each, come to no more than %(most_bytes)s: one at
-- least, and %(limit)s where all of them do.
SELECT COALESCE(CASE WHEN pg_catalog.bool_and(t.pgq_ops_fits) THEN %(limit)s::bigint
                     ELSE greatest(1, pg_catalog.count(*) FILTER (WHERE t.pgq_ops_fits)) END, %(limit)s)
FROM (
    SELECT pg_catalog.sum(s.pgq_ops_bytes) OVER (ROWS UNBOUNDED PRECEDING) <= %(most_bytes)s AS pgq_ops_fits
    FROM (SELECT ({size})::bigint AS pgq_ops_bytes FROM {table} AS j
          WHERE {condition} AND {page} ORDER BY {order} LIMIT %(limit)s) AS s
) AS t
