"""Persistent state: one interface over SQLite and PostgreSQL, sensitivity levels, audit files, owners, secrets."""
