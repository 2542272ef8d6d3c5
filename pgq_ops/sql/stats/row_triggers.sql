-- The users' row triggers of a job table (%(oid)s) and its partitions that fire in an ordinary session; a partition's
-- copy of its parent's trigger is left out. `columns`: of UPDATE OF; empty for any. `notifies` and `discards` are guesses
-- from the function's text: it speaks of NOTIFY, or (in a BEFORE trigger) of RETURN NULL.
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.oid
)
SELECT t.tgname::text, n.nspname::text, c.relname::text, f.proname::text,
       t.tgtype & 2 > 0, t.tgtype & 4 > 0, t.tgtype & 16 > 0, t.tgqual IS NOT NULL,
       ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(t.tgattr::int2[]) AS u(attnum)
             JOIN pg_attribute AS a ON a.attrelid = t.tgrelid AND a.attnum = u.attnum ORDER BY a.attnum),
       f.prosrc ~* '\m(pg_notify|notify)\M',
       t.tgtype & 2 > 0 AND f.prosrc ~* '\mreturn\s+null\M'
FROM tree
JOIN pg_trigger AS t ON t.tgrelid = tree.oid AND NOT t.tgisinternal AND t.tgparentid = 0::oid
JOIN pg_class AS c ON c.oid = t.tgrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_proc AS f ON f.oid = t.tgfoid
WHERE t.tgtype & 1 > 0 AND t.tgenabled IN ('O', 'A')
ORDER BY n.nspname, c.relname, t.tgname
