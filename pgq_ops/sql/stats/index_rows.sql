-- How many entries the indexes of %(oids)s (bigint array) held when they were last vacuumed or analysed.
SELECT sum(greatest(reltuples, 0))::float8 FROM pg_class WHERE oid = ANY (%(oids)s::bigint[]::oid[])
