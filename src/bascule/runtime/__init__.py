"""The one path a request takes: the only room that knows catalog, policy, links and records."""
