-- The values of the state that is mapped to nothing, among all rows (of a small table): the most frequent first.
-- Parameter: limit. A value is cut after 100 characters.
SELECT s.pgq_ops_value
FROM (SELECT pg_catalog.left({state}::text, 100) AS pgq_ops_value FROM {table} AS j WHERE ({is_known}) IS NOT TRUE) AS s
GROUP BY 1
ORDER BY pg_catalog.count(*) DESC, 1
LIMIT %(limit)s
