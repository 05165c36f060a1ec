"""Credentials that are sent to servers: OAuth logins, header commands, and tokens for servers of the kit."""
