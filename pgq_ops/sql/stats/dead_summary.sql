-- Of the first %(sample)s dead letters of a condition: how many there are, the ages in seconds of the oldest and the
-- newest (NULL where none is known), and how many finished in the last hour and the last 24 hours.
SELECT pg_catalog.count(*),
       {oldest_seconds},
       {newest_seconds},
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_finished_at > pg_catalog.now() - interval '1 hour'),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_finished_at > pg_catalog.now() - interval '24 hours')
FROM (
    SELECT {died_at} AS pgq_ops_died_at, {finished_at} AS pgq_ops_finished_at
    FROM {table} AS j
    WHERE {condition}
    LIMIT %(sample)s
) AS s
