"""View models of the dashboard, as frozen values: servers, agent sessions, calls, approvals and search."""
