-- Of the pending jobs, %(limit)s of them at most: how many, how many have as many attempts as they may ({reaches_cap}),
-- and how many were tried %(often)s times or more ({attempts}) and were never put off ({never_put_off}).
SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE s.pgq_ops_capped), pg_catalog.count(*) FILTER (WHERE s.pgq_ops_hurried)
FROM (SELECT {reaches_cap} AS pgq_ops_capped,
             {attempts} >= %(often)s AND {never_put_off} AS pgq_ops_hurried
      FROM {table} AS j
      WHERE {is_pending}
      LIMIT %(limit)s) AS s
