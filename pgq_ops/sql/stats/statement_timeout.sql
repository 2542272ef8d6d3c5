-- How long a statement may take here, in seconds; 0: for ever.
SELECT extract(epoch FROM pg_catalog.current_setting('statement_timeout')::interval)::float8
