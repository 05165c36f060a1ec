"""Sandbox engine on bubblewrap: its arguments, and cgroups for limits."""
