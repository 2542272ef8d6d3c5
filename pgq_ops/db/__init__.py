"""Sessions of pgq-ops: how each is opened, bounded, named and closed, and what can go wrong with one."""
