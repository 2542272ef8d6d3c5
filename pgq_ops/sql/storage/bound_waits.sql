-- Until the transaction ends: no lock is waited for longer than half of deadlock_timeout, or 100 ms, or what the session
-- has. A longer wait makes PostgreSQL cancel a running autovacuum. Returns the role that statements run as.
SELECT pg_catalog.set_config('lock_timeout', greatest(1, least(100,
           extract(epoch FROM pg_catalog.current_setting('deadlock_timeout')::interval) * 500,
           nullif(extract(epoch FROM pg_catalog.current_setting('lock_timeout')::interval) * 1000, 0)))::int::text, true),
       pg_catalog.current_setting('role')
