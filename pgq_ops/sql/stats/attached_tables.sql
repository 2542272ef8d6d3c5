-- A partitioned table (%(oid)s) and everything attached under it; not what is being detached. Waits for no lock.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid
    FROM tree CROSS JOIN LATERAL (
        -- OFFSET keeps this a look by index, however many partitions other tables have.
        SELECT p.inhrelid FROM pg_inherits AS p WHERE p.inhparent = tree.oid AND NOT p.inhdetachpending OFFSET 0
    ) AS i
)
SELECT tree.oid FROM tree
