"""Carry messages: one dispatcher per kind of connection, each with caps, hard deadlines and typed failures."""
