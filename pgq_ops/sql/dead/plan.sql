-- The dead letters that a filter means: how many, %(limit)s at most, the least and the most of {attempts_left} among
-- those, and the ids of the first %(most_ids)s by key.
SELECT c.pgq_ops_jobs, c.pgq_ops_least, c.pgq_ops_most,
       (SELECT pg_catalog.array_agg(s.pgq_ops_id)
        FROM (SELECT {shown_id} AS pgq_ops_id FROM {table} AS j WHERE {condition}
              ORDER BY {order} LIMIT least(%(limit)s, %(most_ids)s)) AS s)
FROM (
    SELECT pg_catalog.count(*) AS pgq_ops_jobs, pg_catalog.min(s.pgq_ops_left) AS pgq_ops_least,
           pg_catalog.max(s.pgq_ops_left) AS pgq_ops_most
    FROM (
        SELECT {attempts_left} AS pgq_ops_left FROM {table} AS j WHERE {condition} {counted_order} LIMIT %(limit)s
    ) AS s
) AS c
