"""HTTP/1.1 server: connection limit, heads, bodies, keep-alive and idle timeouts, back-pressure, disconnects, SSE."""
