"""Command-line parser: command table, grammar and shared options."""
