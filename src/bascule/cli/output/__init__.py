"""Terminal output shared by commands: tables, errors, progress, log lines and outcomes."""
