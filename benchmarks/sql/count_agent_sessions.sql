-- How many sessions the agent has in this database.
SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pgq-ops/%%' AND datname = current_database()
