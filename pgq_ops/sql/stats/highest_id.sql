-- The highest {id} of {table}, from the end of an index. NULL in an empty table.
SELECT pg_catalog.max({id})::bigint FROM {table} AS j
