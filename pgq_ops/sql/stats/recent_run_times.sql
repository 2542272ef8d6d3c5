-- How many seconds the jobs ran that finished last, at most %(limit)s of them: {run_seconds} from the claim to
-- {finished_at}. {since} bounds how long ago that was. Returns how many, how many of those whose claim was good for fewer
-- seconds ({lease_seconds}), and the longest.
SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE s.pgq_ops_ran > s.pgq_ops_lease), pg_catalog.max(s.pgq_ops_ran)
FROM (SELECT {run_seconds} AS pgq_ops_ran, {lease_seconds} AS pgq_ops_lease
      FROM {table} AS j
      WHERE {is_done} AND {since}
      ORDER BY {finished_at} DESC
      LIMIT %(limit)s) AS s
WHERE s.pgq_ops_ran >= 0
