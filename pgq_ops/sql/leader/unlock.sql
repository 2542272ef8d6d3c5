-- Gives back the session-level advisory locks %(keys)s (bigint array).
SELECT pg_catalog.pg_advisory_unlock(k.key) FROM pg_catalog.unnest(%(keys)s::bigint[]) AS k(key)
