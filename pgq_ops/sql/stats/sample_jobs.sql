-- Jobs by queue and state among the first %(limit)s rows of a condition: how many, the age of the oldest in seconds
-- (ready since it was due, dead since it finished; NULL where unknown), and the first and the last finite
-- available_at among them in epoch seconds.
SELECT s.pgq_ops_queue, s.pgq_ops_state, count(*),
       max(s.pgq_ops_age)::float8, min(s.pgq_ops_moment)::float8, max(s.pgq_ops_moment)::float8
FROM (
    SELECT {queue} AS pgq_ops_queue, {state} AS pgq_ops_state, {age} AS pgq_ops_age, {moment} AS pgq_ops_moment
    FROM {table} AS j
    WHERE {condition}
    {order}
    LIMIT %(limit)s
) AS s
GROUP BY 1, 2
