-- The claim's SELECT without its locking clause, run and measured. Besides the key it selects ctid, which no index holds:
-- whoever claims a job must read its row.
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT {key}, j.ctid
FROM {table} AS j
WHERE {is_pending} AND {is_due}
ORDER BY {order}
LIMIT 1
