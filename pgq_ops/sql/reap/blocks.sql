-- How many blocks the heap of a table (%(oid)s) has.
SELECT pg_relation_size(%(oid)s::oid) / current_setting('block_size')::bigint
