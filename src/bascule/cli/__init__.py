"""The command `bascule`. It imports nothing third-party before it knows what to do."""
