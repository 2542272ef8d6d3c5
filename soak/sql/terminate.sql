-- Ends a server process. Parameter: pid.
SELECT pg_terminate_backend(%(pid)s::integer)
