"""What `pgq-ops inspect` shows: read section by section, then as one screen, a live one, or one JSON document."""
