"""Wire formats: framing, JSON-RPC, results, server-sent events, WebSocket frames. Pure: no I/O, no clock."""
