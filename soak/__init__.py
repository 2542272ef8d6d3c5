"""The soak: agents and their sessions are killed under load, and workers' own records tell whether a job was harmed."""
