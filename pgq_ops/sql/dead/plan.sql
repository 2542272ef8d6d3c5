-- The dead letters that a filter means: how many, %(limit)s at most, and the ids of the first %(most_ids)s in the order
-- in which they would be taken.
SELECT count(*), (array_agg(s.pgq_ops_id))[1:%(most_ids)s::integer]
FROM (SELECT {shown_id} AS pgq_ops_id FROM {table} AS j WHERE {condition} ORDER BY {order} LIMIT %(limit)s) AS s
