"""Streamable HTTP and legacy SSE: exchanges, streams, connections and errors."""
