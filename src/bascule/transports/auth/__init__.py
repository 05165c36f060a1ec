"""Credentials of HTTP servers: OAuth, header commands and tokens for the kit."""
