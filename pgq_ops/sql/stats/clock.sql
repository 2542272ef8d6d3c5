-- The time now in epoch seconds, by the database's clock.
SELECT extract(epoch FROM pg_catalog.clock_timestamp())::float8
