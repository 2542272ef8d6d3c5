-- Every job: id, state, version, attempts, and whether it lies in a dead-letter table (this table has none).
SELECT id, status, claim_version, attempts, false FROM soak_lease
