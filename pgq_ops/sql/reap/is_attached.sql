-- A condition: whether {name} (text, quoted and qualified) is still the leaf of this oid, attached to the table of that one.
-- A statement has its lock on the leaf before its snapshot: a DETACH is seen here, or waits for the statement's end.
(
    WITH RECURSIVE pgq_ops_above AS (
        SELECT {leaf}::oid AS pgq_ops_oid
        UNION ALL
        SELECT i.inhparent
        FROM pg_inherits AS i JOIN pgq_ops_above AS below ON i.inhrelid = below.pgq_ops_oid
        WHERE NOT i.inhdetachpending
    )
    SELECT pg_catalog.to_regclass({name})::oid = {leaf}::oid AND {table}::oid IN (SELECT pgq_ops_oid FROM pgq_ops_above)
)
