"""Mounts of a sandbox: which files of the host are visible, and where."""
