-- The leases of the first %(limit)s running rows by queue, each row in one of live, expired, stale and missing, and a
-- live one maybe overlong and future too; then how many of the expired ones have always been over (-infinity). Then ages
-- in seconds, NULL where no moment is known and finite: of the longest expired one (stale ones left out) and the longest
-- stale one since their ends, of the oldest missing one and the longest overlong one since they were claimed or created.
-- {queue} is the group's, {row_queue} the row's: a constant is cheaper outside.
SELECT {queue},
       pg_catalog.count(*) FILTER (WHERE NOT s.pgq_ops_missing AND NOT s.pgq_ops_over),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_over AND NOT s.pgq_ops_stale),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_stale),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_missing),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_overlong AND NOT s.pgq_ops_over),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_future AND NOT s.pgq_ops_over),
       pg_catalog.count(*) FILTER (WHERE s.pgq_ops_over AND NOT s.pgq_ops_stale AND s.pgq_ops_end IS NULL),
       extract(epoch FROM pg_catalog.now() - pg_catalog.min(s.pgq_ops_end) FILTER (WHERE s.pgq_ops_over AND NOT s.pgq_ops_stale))::float8,
       extract(epoch FROM pg_catalog.now() - pg_catalog.min(s.pgq_ops_end) FILTER (WHERE s.pgq_ops_stale))::float8,
       extract(epoch FROM pg_catalog.now() - pg_catalog.min(s.pgq_ops_claimed) FILTER (WHERE s.pgq_ops_missing))::float8,
       extract(epoch FROM pg_catalog.now() - pg_catalog.min(s.pgq_ops_claimed)
               FILTER (WHERE s.pgq_ops_overlong AND NOT s.pgq_ops_over))::float8
FROM (
    SELECT {row_queue} AS pgq_ops_queue,
           COALESCE({ran_out}, false) AS pgq_ops_over,
           COALESCE({is_stale}, false) AS pgq_ops_stale,
           {is_missing} AS pgq_ops_missing,
           COALESCE({is_overlong}, false) AS pgq_ops_overlong,
           COALESCE({is_future}, false) AS pgq_ops_future,
           CASE WHEN pg_catalog.isfinite({expires_at}) THEN {expires_at} END AS pgq_ops_end,
           CASE WHEN {is_missing} OR {is_overlong} THEN {claimed_at} END AS pgq_ops_claimed
    FROM {table} AS j
    WHERE {is_running}
    LIMIT %(limit)s
) AS s
GROUP BY 1
