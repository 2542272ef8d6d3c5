"""Operates and watches a PostgreSQL job table that somebody else's workers use."""
