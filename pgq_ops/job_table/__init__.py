"""A bound job table: how a foreign table looks, said once, as the SQL fragments that the statements use."""
