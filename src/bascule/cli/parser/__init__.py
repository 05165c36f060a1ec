"""Command-line parser: grammar, options and the outline of all commands."""
