"""Store in SQLite, on one machine."""
