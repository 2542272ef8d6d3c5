-- The server processes of the agents.
SELECT pid FROM pg_stat_activity WHERE application_name IN ('pgq-ops/leader', 'pgq-ops/probes')
