-- Serves the claim.
CREATE INDEX soak_lease_pending ON soak_lease (available_at, id) WHERE status = 'pending'
