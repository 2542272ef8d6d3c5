-- Jobs by queue and state among the first %(limit)s rows of a condition: how many, the age of the oldest in seconds
-- (ready since it was due, dead since it finished; NULL where unknown), and the first and the last finite
-- available_at among them in epoch seconds. Times are turned into numbers once a group, not once a row.
SELECT s.pgq_ops_queue, s.pgq_ops_state, pg_catalog.count(*),
       greatest(extract(epoch FROM pg_catalog.now() - pg_catalog.min(s.pgq_ops_since)), 0)::float8,
       extract(epoch FROM pg_catalog.min(s.pgq_ops_moment))::float8,
       extract(epoch FROM pg_catalog.max(s.pgq_ops_moment))::float8
FROM (
    SELECT {queue} AS pgq_ops_queue, {state} AS pgq_ops_state, {since} AS pgq_ops_since, {moment} AS pgq_ops_moment
    FROM {table} AS j
    WHERE {condition}
    {order}
    LIMIT %(limit)s
) AS s
GROUP BY 1, 2
