"""The agent's own VACUUM, where settings cannot keep up: when it is needed, how it gives way, what it did."""
