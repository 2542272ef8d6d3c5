-- Tries the session-level advisory locks %(keys)s (bigint array), never waiting; returns those it got.
-- A standby grants such locks too, each server its own: none is tried there. CASE, since the order in which
-- the conditions of a WHERE are evaluated is not defined.
SELECT k.key
FROM pg_catalog.unnest(%(keys)s::bigint[]) AS k(key)
WHERE CASE WHEN pg_catalog.pg_is_in_recovery() THEN false ELSE pg_catalog.pg_try_advisory_lock(k.key) END
