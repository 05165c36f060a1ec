"""Configured servers: registry, lanes, listings, notifications, isolated twins, refresh and tool pinning."""
