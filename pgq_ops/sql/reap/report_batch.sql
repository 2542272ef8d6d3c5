-- The end of a batch: what became of the rows in `taken`, by queue, whether they reached the cap, and whether the change
-- stayed (false where the user's own trigger swallowed it). Then how many, some ids (up to %(most_ids)s), the addresses
-- of those whose change did not stay, where the next page goes on, and how many copies a dead-letter table swallowed.
SELECT taken.pgq_ops_queue, taken.pgq_ops_bury, written.pgq_ops_key IS NOT NULL, count(*),
       (array_agg(taken.pgq_ops_id))[1:%(most_ids)s::integer],
       array_agg(taken.pgq_ops_key) FILTER (WHERE written.pgq_ops_key IS NULL),
       (SELECT ARRAY[{position}]::text[] FROM taken ORDER BY {last_first} LIMIT 1),
       {not_copied}
FROM taken LEFT JOIN written ON written.pgq_ops_key = taken.pgq_ops_key
GROUP BY 1, 2, 3
