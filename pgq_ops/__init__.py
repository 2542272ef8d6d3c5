"""Operates and watches a PostgreSQL job table that somebody else's workers use."""

# As in pyproject.toml (a test compares them): to ask importlib.metadata takes longer than all of `--version`.
__version__ = "0.1.0"
