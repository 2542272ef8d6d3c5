-- Serves the reaper, and leaves heartbeats HOT.
CREATE INDEX soak_lease_running ON soak_lease (id) WHERE status = 'running'
