-- Size and content, as of the last vacuum or analyze, of those B-trees of a job table's (%(oid)s) leaves that have one
-- of the names %(names)s (text array) and at least %(least_bytes)s bytes: index and its table, pages, entries, percent to
-- which its pages are filled at first, bytes of a page; bytes of an entry's columns in the mean, each rounded up to its
-- alignment (NULL where a column's is not known), and whether a column may be NULL. Waits for no lock.
WITH leaf AS (
    SELECT t.oid FROM ({tables}) AS t
), page AS (
    SELECT pg_catalog.current_setting('block_size')::int AS bytes
)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, x.indrelid::bigint, c.relpages::bigint, c.reltuples::float8,
       coalesce((SELECT o.option_value FROM pg_catalog.pg_options_to_table(c.reloptions) AS o
                 WHERE o.option_name = 'fillfactor')::int, 90),
       page.bytes, entry.bytes, entry.nullable
FROM page CROSS JOIN leaf
JOIN pg_index AS x ON x.indrelid = leaf.oid
JOIN pg_class AS c ON c.oid = x.indexrelid AND c.relam = 403::oid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS t ON t.oid = x.indrelid
CROSS JOIN LATERAL (
    SELECT CASE WHEN pg_catalog.bool_and(width.bytes IS NOT NULL) THEN pg_catalog.sum(width.bytes) END::float8 AS bytes,
           pg_catalog.bool_or(width.nulls > 0.0::float8) AS nullable
    FROM pg_attribute AS a
    LEFT JOIN pg_attribute AS of_table ON of_table.attrelid = x.indrelid AND of_table.attnum = x.indkey[a.attnum - 1]
        AND x.indkey[a.attnum - 1] > 0
    -- An expression's statistics are kept under the index's own name.
    LEFT JOIN pg_stats AS s ON s.schemaname = n.nspname AND NOT s.inherited
        AND s.tablename = CASE WHEN of_table.attname IS NULL THEN c.relname ELSE t.relname END
        AND s.attname = coalesce(of_table.attname, a.attname)
    CROSS JOIN LATERAL (SELECT coalesce(s.null_frac, 0)::float8 AS nulls,
                               CASE a.attalign WHEN 'd' THEN 8 WHEN 'i' THEN 4 WHEN 's' THEN 2 ELSE 1 END AS step) AS known
    CROSS JOIN LATERAL (
        SELECT known.nulls,
               (1.0::float8 - known.nulls)
                   * pg_catalog.ceil((CASE WHEN a.attlen > 0 THEN a.attlen ELSE s.avg_width END)::float8 / known.step::float8)
                   * known.step::float8 AS bytes
    ) AS width
    WHERE a.attrelid = c.oid AND a.attnum > 0
) AS entry
WHERE c.relname = ANY (%(names)s::text[]) AND c.relpages::bigint * page.bytes >= %(least_bytes)s::bigint
ORDER BY c.relpages DESC, n.nspname, c.relname
