-- Of the first %(cap)s running rows of one policy: how many are reapable, and how many there are.
SELECT pg_catalog.count(*) FILTER (WHERE s.pgq_ops_reapable), pg_catalog.count(*)
FROM (SELECT ({is_reapable}) AS pgq_ops_reapable FROM {table} AS j WHERE {is_running} AND {in_policy} LIMIT %(cap)s) AS s
