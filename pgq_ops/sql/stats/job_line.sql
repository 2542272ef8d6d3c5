-- Where in the line of ready jobs the one at the address %(key)s (text) stands, in the order in which they are claimed:
-- its place from 1 on, NULL if it is not among the first %(limit)s; and how many there are, %(limit)s at most.
SELECT pg_catalog.min(numbered.pgq_ops_place) FILTER (WHERE numbered.pgq_ops_key = %(key)s), pg_catalog.count(*)
FROM (
    SELECT s.pgq_ops_key, pg_catalog.row_number() OVER () AS pgq_ops_place
    FROM (SELECT {key_text} AS pgq_ops_key FROM {table} AS j WHERE {is_ready} {in_order} LIMIT %(limit)s) AS s
) AS numbered
