-- The dead letters that a filter means and that are still there up to a position, without those of %(skip)s (addresses,
-- text array): how many, %(cap)s at most, and the ids of the first %(most_ids)s.
-- An anti join is hashed however many they are; <> ALL compares each row with each of them.
SELECT pg_catalog.count(*), (pg_catalog.array_agg(s.pgq_ops_id))[1:%(most_ids)s::integer]
FROM (
    SELECT {shown_id} AS pgq_ops_id
    FROM {table} AS j
    WHERE {condition} AND {page}
      AND NOT EXISTS (SELECT FROM pg_catalog.unnest(%(skip)s::text[]) AS skipped(key) WHERE skipped.key = {key_text})
    LIMIT %(cap)s
) AS s
