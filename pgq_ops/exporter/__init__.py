"""What is served to Prometheus: collected in the background, kept in memory, answered from there."""
