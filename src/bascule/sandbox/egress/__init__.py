"""Egress proxy of the proxied lane: Envoy, its rules from `egress.allow`, and its access log."""
