"""Boxes that are containers, and the engine that runs them, asked over its socket."""
