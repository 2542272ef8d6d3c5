-- The claim's SELECT without its locking clause, run and measured. After claim_settings.
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT FROM {table} AS j WHERE {is_pending} AND {is_due} {in_order} LIMIT 1
