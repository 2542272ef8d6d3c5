-- The end of a batch: what became of the rows in `taken`, by queue, whether they reached the cap, and whether the change
-- stayed (false where the user's own trigger swallowed it). Then how many, some ids (up to %(most_ids)s), the addresses
-- of those whose change did not stay, where the next page goes on, and how many copies a dead-letter table swallowed.
-- IN is a hash table whatever the planner believes; a join of what it takes for one row compared all with all.
SELECT t.pgq_ops_queue, t.pgq_ops_bury, t.pgq_ops_written, count(*),
       (array_agg(t.pgq_ops_id))[1:%(most_ids)s::integer],
       array_agg(t.pgq_ops_key) FILTER (WHERE NOT t.pgq_ops_written),
       (SELECT ARRAY[{position}]::text[] FROM taken ORDER BY {last_first} LIMIT 1),
       {not_copied}
FROM (
    SELECT taken.pgq_ops_queue, taken.pgq_ops_bury, taken.pgq_ops_id, taken.pgq_ops_key,
           taken.pgq_ops_key IN (SELECT written.pgq_ops_key FROM written) AS pgq_ops_written
    FROM taken
    OFFSET 0
) AS t
GROUP BY 1, 2, 3
