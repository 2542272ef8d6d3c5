-- How many pages the content of a B-tree (%(oid)s) fills, by {pgstatindex}, which reads the whole index and waits for its
-- lock: pages that are deleted, empty or half empty left out.
SELECT (CASE WHEN s.leaf_pages > 0 THEN s.leaf_pages::float8 * s.avg_leaf_density / 100.0::float8 ELSE 0.0::float8 END
        + s.internal_pages::float8 + 1.0::float8)
FROM {pgstatindex}(%(oid)s::oid::regclass) AS s
