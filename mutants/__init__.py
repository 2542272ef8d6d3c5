"""Breaks the product on purpose, one line at a time, and runs the tests that should notice."""
