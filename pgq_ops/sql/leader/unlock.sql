-- Gives back the session-level advisory locks %(keys)s (bigint array).
SELECT pg_advisory_unlock(k.key) FROM unnest(%(keys)s::bigint[]) AS k(key)
