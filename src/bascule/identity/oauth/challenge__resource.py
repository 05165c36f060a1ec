"""Where a server of ours says who issues the tokens that it believes, for whoever it does not let in."""

from urllib.parse import urlsplit, urlunsplit

import msgspec

WELL_KNOWN = "/.well-known/oauth-protected-resource"
"""Where RFC 9728 has a client look."""


def metadata_url(resource: str) -> str:
    """Where the metadata of the resource at this address lies: the well-known path stands before its own."""
    parts = urlsplit(resource)
    return urlunsplit((parts.scheme, parts.netloc, f"{WELL_KNOWN}{parts.path.rstrip('/')}", parts.query, ""))


def resource_metadata(resource: str, issuers: tuple[str, ...], scopes: frozenset[str] = frozenset()) -> bytes:
    """The document of RFC 9728. Issuers that are no addresses, such as our own mint, are nowhere to log in."""
    document: dict[str, object] = {"resource": resource, "bearer_methods_supported": ["header"]}
    servers = [issuer for issuer in issuers if urlsplit(issuer).scheme in {"https", "http"}]
    if servers:
        document["authorization_servers"] = servers
    if scopes:
        document["scopes_supported"] = sorted(scopes)
    return msgspec.json.encode(document)
