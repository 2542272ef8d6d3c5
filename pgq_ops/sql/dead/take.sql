-- Locks up to %(limit)s dead letters that a filter means, in the page's order, passing over locked ones.
-- {condition}: that the row is dead and meant, with its own parameters (dead_...). {carried}: what else is wanted of it.
-- After the lock PostgreSQL checks the condition again on the newest version.
SELECT {key_columns},
       {key_text} AS pgq_ops_key,
       {shown_id} AS pgq_ops_id,
       {carried},
       {carried_order}
FROM {table} AS j
WHERE {condition} AND {page}
ORDER BY {order}
LIMIT %(limit)s
{lock} OF j SKIP LOCKED
