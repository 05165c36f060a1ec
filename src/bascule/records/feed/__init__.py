"""Live feed of the dashboard: last calls, and statistics of tools, agent sessions and servers, all bounded."""
