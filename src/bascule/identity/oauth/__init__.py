"""OAuth without I/O: stored logins, challenges, redirects, token endpoint messages, and the SSRF guard."""
