"""`WWW-Authenticate` challenges, read and written, and the protected resource metadata (RFC 9728) of kit servers and
the gateway."""

import re
from urllib.parse import urlsplit, urlunsplit

import msgspec

_BEARER = re.compile(r"\bbearer\b", re.IGNORECASE)
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_EXPIRED = re.compile(r"\bexpired\b", re.IGNORECASE)
_SCOPES = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]*")

LONGEST = 8 * 1024
"""Characters of the header that are looked at."""


class Challenge(msgspec.Struct, frozen=True):
    """Which login a server wants. Empty where it does not say."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""
    peer: str = ""
    """Peer address of the connection that gave it; empty where there is none."""

    @property
    def lacks_scope(self) -> bool:
        """Whether we are known there, and may not do this."""
        return self.error == "insufficient_scope"

    def header(self) -> str:
        """The same in plain words, with nothing else the server may have put there."""
        given = {"error": self.error, "scope": self.scope, "resource_metadata": self.resource_metadata}
        return ", ".join(["Bearer", *(f'{name}="{value}"' for name, value in given.items() if value)]).replace(
            "Bearer, ", "Bearer ", 1
        )


def read_challenge(header: str, peer: str = "") -> Challenge:
    found = _BEARER.search(header[:LONGEST])
    if found is None:
        return Challenge(peer=peer)
    given = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(header[found.end() : LONGEST])}
    fields = {name: given.get(name, "") for name in ("error", "scope", "resource_metadata")}
    # What goes on is put between quotes again, so nothing that could end them may pass.
    return Challenge(peer=peer, **{name: value if _SCOPES.fullmatch(value) else "" for name, value in fields.items()})


def says_expired(header: str) -> bool:
    """Whether a server says that the time of a token is over. The standard has one word for that and for a wrong one,
    and leaves the rest to a sentence for people."""
    given = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(header[:LONGEST])}
    return given.get("error") == "invalid_token" and bool(_EXPIRED.search(given.get("error_description", "")))


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
