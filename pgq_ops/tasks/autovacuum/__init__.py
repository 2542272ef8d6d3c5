"""Autovacuum that keeps up: what each leaf's settings ought to be, putting them there, and taking them back."""
