-- The same SELECT as in claim_cost, only planned.
EXPLAIN (FORMAT JSON)
SELECT {key}, j.ctid
FROM {table} AS j
WHERE {is_pending} AND {is_due}
ORDER BY {order}
LIMIT 1
