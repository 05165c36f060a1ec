"""Undo of changes to a workspace: journal, backups and restore."""
