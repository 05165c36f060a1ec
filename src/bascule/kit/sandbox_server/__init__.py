"""Sandbox server: run, read and write in an isolated workspace."""
