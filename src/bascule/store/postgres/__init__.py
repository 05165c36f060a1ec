"""Store in PostgreSQL, shared by several nodes."""
