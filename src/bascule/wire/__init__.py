"""Bytes and messages, pure: framing, JSON-RPC reading and writing, replies to outcomes. No I/O, no clock."""
