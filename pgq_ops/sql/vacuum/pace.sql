-- For this session: how long a VACUUM or ANALYZE of its own rests (%(delay_ms)s), each time its work is worth %(limit)s.
SELECT pg_catalog.set_config('vacuum_cost_delay', %(delay_ms)s::text, false),
       pg_catalog.set_config('vacuum_cost_limit', %(limit)s::text, false)
