"""Dashboard: web pages with the servers, agent sessions and calls of a running gateway, and actions of an operator."""
