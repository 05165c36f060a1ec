"""Worker processes of one gateway: the supervisor that starts, restarts and drains them."""
