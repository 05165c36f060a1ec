"""Servers as processes: stdio on the host, and exec into a Docker container."""
