"""Observability: audit log, telemetry, dashboard feed and server logs, made from the runtime's events."""
