"""HTTP and OpenAPI connectors, with an SSRF guard."""
