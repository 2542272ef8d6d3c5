-- Keep everybody else from changing the parameters of {table} until the transaction ends, or fail at once: whoever waits
-- behind an autovacuum makes PostgreSQL cancel it.
LOCK TABLE ONLY {table} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT
