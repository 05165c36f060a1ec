"""SQL connectors for SQLite and PostgreSQL: read-only queries with row and time limits."""
