-- The end of a batch: what became of the rows in `taken`, by queue, whether they reached the cap, and whether the change
-- stayed (false where the user's own trigger swallowed it). Then how many, some ids (up to %(most_ids)s) of those
-- that were written, the addresses of the others, where the next page goes on, and how many copies a dead-letter table
-- swallowed. The others are looked for only where the numbers differ; texts are made only of what is reported.
SELECT g.*, (SELECT ARRAY[{position}]::text[] FROM taken ORDER BY {last_first} LIMIT 1), {not_copied}
FROM (
    SELECT w.*,
           ARRAY(
               SELECT {id} FROM written
               WHERE written.pgq_ops_queue IS NOT DISTINCT FROM w.pgq_ops_queue AND written.pgq_ops_bury = w.pgq_ops_bury
               LIMIT %(most_ids)s
           ),
           NULL::text[]
    FROM (
        SELECT written.pgq_ops_queue, written.pgq_ops_bury, true AS pgq_ops_written, pg_catalog.count(*)
        FROM written
        GROUP BY 1, 2
    ) AS w
    UNION ALL
    SELECT taken.pgq_ops_queue, taken.pgq_ops_bury, false, pg_catalog.count(*), ARRAY[]::text[], pg_catalog.array_agg({taken_key})
    FROM taken
    WHERE (SELECT pg_catalog.count(*) FROM taken) <> (SELECT pg_catalog.count(*) FROM written)
      AND ({taken_columns}) NOT IN (SELECT {written_columns} FROM written)
    GROUP BY 1, 2
) AS g
