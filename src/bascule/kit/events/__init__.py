"""Events of a server: resource changes, listeners and watchers."""
