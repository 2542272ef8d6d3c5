-- What a pass would do now under one policy: how many rows it would requeue, and how many bury.
SELECT pg_catalog.count(*) FILTER (WHERE NOT d.pgq_ops_bury), pg_catalog.count(*) FILTER (WHERE d.pgq_ops_bury)
FROM (SELECT {reaches_cap} AS pgq_ops_bury FROM {table} AS j WHERE {is_reapable} AND {in_policy}) AS d
