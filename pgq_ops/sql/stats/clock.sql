-- The time now in epoch seconds, by the database's clock.
SELECT extract(epoch FROM clock_timestamp())::float8
