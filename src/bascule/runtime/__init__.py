"""Runtime: agent sessions, and the one path of each request through catalog, policy, links and records."""
