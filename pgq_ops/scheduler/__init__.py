"""When tasks run, for how long, and what is told about it; what they do is in `tasks`."""
