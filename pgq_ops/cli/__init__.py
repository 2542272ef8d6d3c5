"""The command line: one command a file, which parses, calls and prints, and imports its work inside itself."""
