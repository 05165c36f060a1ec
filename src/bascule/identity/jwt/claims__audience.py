"""Whom a token of ours is for."""

from urllib.parse import urlsplit

AT_SPAWN = "bascule::spawn"
"""The audience of a token that a server is started with. None that listens somewhere believes it: no name of a server
has a colon in it, and no address begins like this."""

SPAWN_VARIABLE = "BASCULE_TOKEN"
"""Where a server finds the token that it is started with."""


def audience_of_url(url: str) -> str:
    """A server that listens is named by its address, as every client of it can write it down."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = "127.0.0.1" if host in {"localhost", "::1"} else host
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme.lower()}://{host}:{port}{parts.path.rstrip('/')}"
