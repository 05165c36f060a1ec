"""Catalog of tools without I/O: listings, names, digests, JSON Schema, screening, pinning, search, typed stubs."""
