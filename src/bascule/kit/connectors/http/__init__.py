"""HTTP and OpenAPI connectors to web services that the server's author declares, with an SSRF guard."""
