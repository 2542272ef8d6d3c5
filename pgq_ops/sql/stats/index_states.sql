-- The indexes of a job table (%(oid)s) and its partitions; a partition's part of an index of its parent is counted there.
-- `valid`: it, and all of its parts, may be used. `attachable`: it is a parent's index that has no part on some partition.
-- `building`: somebody makes it, or drops it, or makes another one on its table now. `needed`: unique, or behind a constraint. `kind`: everything that two indexes have
-- in common that serve the same; `unique` apart. `scans` with those of its parts; NULL without statistics.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.oid
), parts AS (
    SELECT x.indexrelid AS top, x.indexrelid AS part
    FROM tree JOIN pg_index AS x ON x.indrelid = tree.oid
    WHERE NOT EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhrelid = x.indexrelid)
    UNION ALL
    SELECT parts.top, h.inhrelid FROM parts JOIN pg_inherits AS h ON h.inhparent = parts.part
), making AS (
    -- Of others' work a role without pg_monitor sees neither table nor index.
    SELECT b.relid FROM pg_stat_progress_create_index AS b WHERE b.datname = pg_catalog.current_database()
), held AS (
    -- REINDEX CONCURRENTLY keeps these locks on the old and the new one all the time; nobody's writes or VACUUM do.
    SELECT l.relation
    FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
    WHERE d.datname = pg_catalog.current_database() AND l.locktype = 'relation' AND l.granted
      AND l.mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
), summed AS (
    SELECT parts.top, pg_catalog.bool_and(p.indisvalid AND p.indisready) AS valid,
           pg_catalog.bool_or(EXISTS (SELECT FROM making AS m WHERE m.relid = p.indrelid OR m.relid IS NULL)
                              OR parts.part IN (SELECT h.relation FROM held AS h)) AS building,
           pg_catalog.sum(pg_catalog.pg_stat_get_numscans(parts.part))::bigint AS scans, pg_catalog.sum(c.relpages)::bigint AS pages
    FROM parts
    JOIN pg_index AS p ON p.indexrelid = parts.part
    JOIN pg_class AS c ON c.oid = parts.part
    GROUP BY parts.top
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, tn.nspname::text, t.relname::text,
       summed.valid, c.relkind = 'I' AND NOT x.indisvalid, summed.building,
       x.indisunique OR k.conindid IS NOT NULL, x.indisunique, k.conindid IS NOT NULL,
       pg_catalog.concat_ws(' ', x.indrelid, c.relam, x.indnkeyatts, x.indkey, x.indclass, x.indcollation, x.indoption,
                 pg_catalog.regexp_replace(pg_catalog.concat_ws(' ', x.indexprs::text, '/', x.indpred::text), ':location -?\d+', '', 'g')),
       summed.scans, summed.pages
FROM summed
JOIN pg_index AS x ON x.indexrelid = summed.top
JOIN pg_class AS c ON c.oid = x.indexrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS t ON t.oid = x.indrelid
JOIN pg_namespace AS tn ON tn.oid = t.relnamespace
LEFT JOIN (SELECT DISTINCT o.conindid FROM pg_constraint AS o WHERE o.conindid <> 0::oid) AS k ON k.conindid = x.indexrelid
ORDER BY n.nspname, c.relname
