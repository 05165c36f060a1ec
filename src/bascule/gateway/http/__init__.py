"""HTTP/1.1 server: connections, heads, bodies, idle timeouts, back-pressure, disconnects and SSE."""
