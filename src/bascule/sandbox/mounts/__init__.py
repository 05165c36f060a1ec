"""Mounts of a sandbox: the files and folders of the host that its server sees, found from command and config."""
