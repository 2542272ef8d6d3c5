-- Whether a table (%(name)s: its quoted, qualified name) is still the one with %(oid)s, or a partition of it at whatever
-- depth that nobody is detaching.
WITH RECURSIVE above AS (
    SELECT to_regclass(%(name)s::text)::oid AS oid
    UNION ALL
    SELECT i.inhparent FROM above JOIN pg_inherits AS i ON i.inhrelid = above.oid WHERE NOT i.inhdetachpending
)
SELECT bool_or(above.oid = %(oid)s::oid) FROM above
