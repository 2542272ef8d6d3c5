-- How many jobs are running now in the queue %(queue)s (text, NULL for none), %(limit)s at most.
SELECT pg_catalog.count(*)
FROM (
    SELECT FROM {table} AS j
    WHERE {is_running} AND {queue} IS NOT DISTINCT FROM %(queue)s::text
    LIMIT %(limit)s
) AS s
