"""Sandbox engine on Docker: one container per sandbox, with its image, mounts, network, labels and removal."""
