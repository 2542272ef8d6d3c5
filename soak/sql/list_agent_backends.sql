-- The server processes of the agents, and whether each is that of a session which may lead.
SELECT pid, application_name = 'pgq-ops/leader'
FROM pg_stat_activity WHERE application_name IN ('pgq-ops/leader', 'pgq-ops/probes')
