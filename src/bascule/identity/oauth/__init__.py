"""OAuth: login flow, challenges, redirect and token endpoint, SSRF guard."""
