"""Edits of a config file that keep its comments and order: insertion, atomic write, undo."""
