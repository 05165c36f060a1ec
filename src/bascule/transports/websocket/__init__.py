"""WebSocket transport: handshake and dispatcher."""
