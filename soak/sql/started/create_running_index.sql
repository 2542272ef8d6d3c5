-- Serves the reaper; nothing extends a lease here.
CREATE INDEX soak_started_running ON soak_started (started_at) WHERE status = 'running'
