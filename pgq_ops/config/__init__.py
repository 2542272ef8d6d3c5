"""What the user has configured: frozen, merged from all its sources and validated once."""
