-- How many of the first %(limit)s running rows there are by queue, and how many of them have nothing but a live lease.
-- {queue} is the group's, {row_queue} the row's: a constant is cheaper outside.
SELECT {queue}, pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE s.pgq_ops_well)
FROM (
    SELECT {row_queue} AS pgq_ops_queue,
           NOT ({is_missing} OR {ran_out} OR {is_overlong} OR {is_future}) AS pgq_ops_well
    FROM {table} AS j
    WHERE {is_running}
    LIMIT %(limit)s
) AS s
GROUP BY 1
