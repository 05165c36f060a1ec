"""What outlives a process: one small interface over an embedded or a shared database."""
