-- Jobs that finished after %(since)s (epoch seconds; NULL: none) and no later than %(lag)s seconds before now, by queue
-- and final state; the last %(longest)s seconds of that at most.
SELECT {queue}, {state}, pg_catalog.count(*)
FROM {table} AS j
WHERE {after_since} AND {until} AND {is_finished}
GROUP BY 1, 2
