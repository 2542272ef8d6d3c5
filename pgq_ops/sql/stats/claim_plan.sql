-- The claim's SELECT without its locking clause, only planned. After claim_settings.
EXPLAIN (FORMAT JSON)
SELECT FROM {table} AS j WHERE {is_pending} AND {is_due} {in_order} LIMIT 1
