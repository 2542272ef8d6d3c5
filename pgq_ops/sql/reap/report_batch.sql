-- The end of a batch: what became of the rows in `taken`, by queue, whether they reached the cap, and whether the change
-- stayed (false where the user's own trigger swallowed it). Then how many, some ids (up to %(most_ids)s) of those
-- that were written, the addresses of the others, where the next page goes on, and how many copies a dead-letter table
-- swallowed. The others are looked for only where the numbers differ.
SELECT g.*, (SELECT ARRAY[{position}]::text[] FROM taken ORDER BY {last_first} LIMIT 1), {not_copied}
FROM (
    SELECT written.pgq_ops_queue, written.pgq_ops_bury, true AS pgq_ops_written, count(*),
           (array_agg(written.pgq_ops_id))[1:%(most_ids)s::integer], NULL::text[]
    FROM written
    GROUP BY 1, 2
    UNION ALL
    SELECT taken.pgq_ops_queue, taken.pgq_ops_bury, false, count(*), ARRAY[]::text[], array_agg(taken.pgq_ops_key)
    FROM taken
    WHERE (SELECT count(*) FROM taken) <> (SELECT count(*) FROM written)
      AND taken.pgq_ops_key NOT IN (SELECT written.pgq_ops_key FROM written)
    GROUP BY 1, 2
) AS g
