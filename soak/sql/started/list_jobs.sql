-- Every job: id, state, version, attempts, and whether it lies in the dead-letter table.
SELECT id, status, attempts, attempts, false FROM soak_started
UNION ALL
SELECT id, status, attempts, attempts, true FROM soak_dead
