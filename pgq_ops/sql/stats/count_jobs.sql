-- How many of the first {limit} rows of a condition there are, in the form of sample_jobs; no row for none. Names no
-- column but the condition's, so that an index which proves it is read alone.
SELECT {queue}, {state}, c.pgq_ops_jobs, NULL::float8, NULL::float8, NULL::float8
FROM (SELECT pg_catalog.count(*) AS pgq_ops_jobs FROM (SELECT FROM {table} AS j WHERE {condition} LIMIT {limit}) AS s) AS c
WHERE c.pgq_ops_jobs > 0
