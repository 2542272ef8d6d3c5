-- How many of the first {limit} dead jobs there are, and the age in seconds of the oldest of them, in the form of
-- sample_jobs; no row for none. The count names no column but the condition's, so that an index which proves it is
-- read alone. Where there are {limit}, the age is that of the oldest of the first {few} by the index: no more of them
-- need then be read from the table.
SELECT {queue}, 'dead', c.pgq_ops_jobs,
       greatest(extract(epoch FROM pg_catalog.now() - least(whole.pgq_ops_since, few.pgq_ops_since)), 0)::float8,
       NULL::float8, NULL::float8
FROM (SELECT pg_catalog.count(*) AS pgq_ops_jobs FROM (SELECT FROM {table} AS j WHERE {condition} LIMIT {limit}) AS s) AS c
CROSS JOIN LATERAL (
    SELECT pg_catalog.min(s.pgq_ops_since) AS pgq_ops_since
    FROM (
        SELECT {since} AS pgq_ops_since FROM {table} AS j
        WHERE {condition} AND c.pgq_ops_jobs < {limit} LIMIT {limit}
    ) AS s
) AS whole
CROSS JOIN LATERAL (
    SELECT pg_catalog.min(s.pgq_ops_since) AS pgq_ops_since
    FROM (
        SELECT {since} AS pgq_ops_since FROM {table} AS j
        WHERE {condition} AND c.pgq_ops_jobs >= {limit} LIMIT {few}
    ) AS s
) AS few
WHERE c.pgq_ops_jobs > 0
