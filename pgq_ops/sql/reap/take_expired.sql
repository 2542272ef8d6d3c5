-- Locks up to %(limit)s reapable rows of one policy, in the page's order, passing over locked ones.
-- {page}: which rows are to come, and whether the relation, and which of its rows, may be taken just now.
-- %(skip)s: addresses (text array) of rows that were refused lately and are left alone for now.
-- After the lock PostgreSQL checks the condition again on the newest version: a heartbeat that won is let alone.
SELECT {key_columns},
       {queue} AS pgq_ops_queue,
       {reaches_cap} AS pgq_ops_bury,
       {carried}
FROM {table} AS j
WHERE {is_reapable} AND {in_policy} AND {page}
  AND (pg_catalog.cardinality(%(skip)s::text[]) = 0 OR {key_text} <> ALL (%(skip)s::text[]))
ORDER BY {order}
LIMIT %(limit)s
{lock} OF j SKIP LOCKED
