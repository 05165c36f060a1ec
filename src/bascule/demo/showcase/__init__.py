"""Showcase of `bascule serve --demo`: its config, and the demo agents that generate its traffic."""
