"""Authentication of the dashboard: login, cookies, tokens, attempt limits and security headers."""
