"""What pgq-ops does to a job table: one action a file, each behind the Protocol in `task`."""
