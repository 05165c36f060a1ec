"""Showcase config of the demo gateway, and the agents that make its traffic."""
