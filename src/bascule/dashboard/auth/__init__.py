"""Authentication of the dashboard: token login, signed cookies, CSRF tokens, failed-login limit, security headers."""
