-- The dead letters that a filter means: how many, %(limit)s at most, and the ids of the first %(most_ids)s by key.
SELECT (SELECT count(*) FROM (SELECT FROM {table} AS j WHERE {condition} LIMIT %(limit)s) AS c),
       (SELECT array_agg(s.pgq_ops_id)
        FROM (SELECT {shown_id} AS pgq_ops_id FROM {table} AS j WHERE {condition}
              ORDER BY {order} LIMIT least(%(limit)s, %(most_ids)s)) AS s)
