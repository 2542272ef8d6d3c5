-- The foreign keys from a job table (%(oid)s) and its partitions to other tables, and those of other tables to it.
-- `incoming`: another table refers to the jobs. `indexed`: an index leads from a referenced row to those that refer to
-- it; without one, a DELETE there reads the whole referring table. `action`: of ON DELETE, the letter of confdeltype.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION
    SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.oid
)
SELECT k.conname::text, k.confrelid IN (SELECT tree.oid FROM tree), rn.nspname::text, r.relname::text,
       fn.nspname::text, f.relname::text,
       ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY AS c(attnum, position)
             JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = c.attnum ORDER BY c.position),
       k.confdeltype::text,
       EXISTS (SELECT FROM pg_index AS i
               WHERE i.indrelid = k.conrelid AND i.indisvalid
                 AND (i.indpred IS NULL OR i.indpred::text LIKE '{{NULLTEST %% :nulltesttype 1 %%')
                 AND (i.indkey::int2[])[0:pg_catalog.cardinality(k.conkey) - 1] @> k.conkey),
       CASE WHEN r.relkind = 'p' THEN (SELECT COALESCE(pg_catalog.sum(greatest(l.reltuples, 0)), 0)::bigint
                                       FROM pg_inherits AS h JOIN pg_class AS l ON l.oid = h.inhrelid
                                       WHERE h.inhparent = r.oid)
            ELSE greatest(r.reltuples, 0)::bigint END
FROM pg_constraint AS k
JOIN pg_class AS r ON r.oid = k.conrelid
JOIN pg_namespace AS rn ON rn.oid = r.relnamespace
JOIN pg_class AS f ON f.oid = k.confrelid
JOIN pg_namespace AS fn ON fn.oid = f.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0::oid
  AND (k.conrelid IN (SELECT tree.oid FROM tree) OR k.confrelid IN (SELECT tree.oid FROM tree))
ORDER BY 2 DESC, 3, 4, 1
