-- How many blocks the heap of a table has. %(name)s: its quoted, qualified name; 42P01 where it is gone.
SELECT pg_catalog.pg_relation_size(%(name)s::text::regclass) / pg_catalog.current_setting('block_size')::bigint
