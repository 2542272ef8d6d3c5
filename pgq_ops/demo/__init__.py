"""The demo: an embedded server, a job table, workers that fail, and the agent beside them."""
