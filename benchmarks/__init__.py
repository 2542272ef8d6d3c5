"""What pgq-ops costs and how fast it acts, beside the statement that people write first. `make bench` runs them."""
