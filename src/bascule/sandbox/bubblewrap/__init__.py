"""Sandbox engine on bubblewrap: Linux namespaces, its command line, and cgroups for resource limits."""
