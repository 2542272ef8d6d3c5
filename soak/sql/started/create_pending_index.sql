-- Serves the claim.
CREATE INDEX soak_started_pending ON soak_started (priority DESC, run_after) WHERE status = 'pending'
