"""From what was read to what is wrong: one check a file, each a function from a `Look` to findings."""
