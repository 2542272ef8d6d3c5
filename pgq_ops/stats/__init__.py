"""What pgq-ops reads: one question a file, each answered with frozen rows."""
