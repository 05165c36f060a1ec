"""Servers as processes: stdio, and exec into a Docker container."""
