"""Streamable HTTP and legacy HTTP+SSE: POSTs, responses, the GET stream, connections and errors."""
