"""Log files of servers: rotation, lines and tail."""
