-- What is left of the live leases of running jobs, {seconds_left} each, of %(limit)s of them at most: how many there are,
-- the longest, and what nine in ten have at least.
SELECT pg_catalog.count(*), pg_catalog.max(s.pgq_ops_left), pg_catalog.percentile_cont(0.1) WITHIN GROUP (ORDER BY s.pgq_ops_left)
FROM (SELECT {seconds_left} AS pgq_ops_left
      FROM {table} AS j
      WHERE {is_running} AND NOT {ran_out} AND NOT {is_future}
      LIMIT %(limit)s) AS s
WHERE s.pgq_ops_left IS NOT NULL
