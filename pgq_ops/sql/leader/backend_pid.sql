-- The server process that answers.
SELECT pg_catalog.pg_backend_pid()
