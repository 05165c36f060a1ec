"""The built-in servers and the session that is played on them."""
