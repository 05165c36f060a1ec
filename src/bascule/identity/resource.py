"""What a server of ours tells whoever it does not let in: the status, the challenge, and where tokens are issued."""

from urllib.parse import urlsplit, urlunsplit

import msgspec

from bascule.core.errors import ConfigError, NotIdentified
from bascule.identity.challenge import Challenge, read_challenge

WELL_KNOWN = "/.well-known/oauth-protected-resource"
"""Where RFC 9728 has a client look."""

UNAUTHORIZED = 401
FORBIDDEN = 403


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request of somebody who is not let in."""

    status: int
    header: str
    """The value of `WWW-Authenticate`."""


def answer_to(refusal: NotIdentified, metadata_url: str = "", scopes: frozenset[str] = frozenset()) -> Answer:
    """How a refusal is told over HTTP. Who showed no token is told no error, says RFC 6750."""
    lacking = refusal.error == "insufficient_scope"
    scope = " ".join(sorted(scopes)) if lacking else ""
    challenge = Challenge(error=refusal.error, scope=scope, resource_metadata=metadata_url)
    header = challenge.header()
    if read_challenge(header) != challenge:
        raise ConfigError(
            "a challenge cannot be written: the address of the metadata, or a scope, has quotes or blanks in it",
            fix="correct the address under which the server is reached",
        )
    return Answer(FORBIDDEN if lacking else UNAUTHORIZED, header)


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
