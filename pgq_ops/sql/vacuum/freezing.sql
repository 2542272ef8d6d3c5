-- Of tables (%(oids)s): how old their oldest row may be (transactions since relfrozenxid), pages, and how many of them are
-- known to hold nothing that could still be frozen (NULL before PostgreSQL 18). Waits for no lock.
SELECT c.oid::bigint, pg_catalog.age(c.relfrozenxid), c.relpages::bigint,
       (pg_catalog.to_jsonb(c) ->> 'relallfrozen'::text)::bigint
FROM pg_class AS c
WHERE c.oid = ANY (%(oids)s::oid[]) AND c.relkind = 'r'
