"""Doors into agent frameworks: one file a framework, independent of each other, and none of it anywhere else."""
