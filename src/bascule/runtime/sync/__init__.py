"""Synchronous API: a runtime in a background thread, and the portal to its event loop."""
