-- Ready and scheduled jobs among the first {limit} pending ones by available_at, in the form of sample_jobs: how many,
-- the age of the oldest in seconds and its available_at in epoch seconds, both NULL where that is infinite. Names no
-- column but available_at and the condition's, so that the claim's index is read alone.
SELECT {queue}, v.pgq_ops_state, v.pgq_ops_jobs,
       greatest(extract(epoch FROM pg_catalog.now() - v.pgq_ops_first), 0)::float8,
       extract(epoch FROM v.pgq_ops_first)::float8, NULL::float8
FROM (
    SELECT pg_catalog.count(*) AS pgq_ops_jobs, pg_catalog.min(s.pgq_ops_available) AS pgq_ops_first
    FROM (
        SELECT {available_at} AS pgq_ops_available FROM {table} AS j
        WHERE {condition} AND {is_due} ORDER BY {available_at} LIMIT {limit}
    ) AS s
) AS ready
CROSS JOIN LATERAL (
    SELECT pg_catalog.count(*) AS pgq_ops_jobs, pg_catalog.min(s.pgq_ops_available) AS pgq_ops_first
    FROM (
        SELECT {available_at} AS pgq_ops_available FROM {table} AS j
        WHERE {condition} AND NOT ({is_due}) ORDER BY {available_at} LIMIT {limit} - ready.pgq_ops_jobs
    ) AS s
) AS scheduled
CROSS JOIN LATERAL (
    VALUES ('ready', ready.pgq_ops_jobs, {first_ready}), ('scheduled', scheduled.pgq_ops_jobs, {first_scheduled})
) AS v(pgq_ops_state, pgq_ops_jobs, pgq_ops_first)
WHERE v.pgq_ops_jobs > 0
