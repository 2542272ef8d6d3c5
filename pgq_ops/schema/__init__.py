"""The `pgq_ops` schema: what pgq-ops remembers in the database, and the privileges its roles need."""
