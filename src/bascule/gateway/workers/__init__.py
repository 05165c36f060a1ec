"""Worker processes of one gateway, and their supervisor."""
