"""Telemetry of a runtime: metrics and trace spans, exported by OTLP and Prometheus."""
