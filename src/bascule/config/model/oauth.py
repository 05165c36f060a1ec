"""OAuth client settings for a remote server. A file sets client id, secret and scopes; code can set all of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal
from urllib.parse import urlsplit

from bascule.config.secret import Secret
from bascule.config.validation import Flaw, choice_flaws, items, refuse, texts

Grant = Literal["person", "client"]
GRANTS = ("person", "client")

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""What RFC 6749 lets a scope be made of: visible ASCII without quotes and backslashes."""


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The login of one server. Everything has a default: most servers tell a client all it has to know."""

    client_id: str | None = None
    """The client that was registered beforehand, or the https URL of a client metadata document. None: a client is
    registered at the first login, where the login server allows that."""
    scopes: tuple[str, ...] = ()
    """What to ask for. Empty: what the server says it wants."""
    client_secret: Secret | str | None = None
    grant: Grant = "person"
    """`person`: someone logs in with a browser. `client`: the client's own credentials are enough."""
    private_key: Secret | str | None = None
    """A key in PEM by which the client proves itself in place of a secret; with the grant `client`."""
    signing_algorithm: str = "RS256"
    issuer: str | None = None
    """The only login server that may see the client's credentials. None: whichever the server names."""
    redirect_uri: str | None = None
    """Where the browser comes back to, when the program around us receives it. `bascule login` uses its own."""

    def __post_init__(self) -> None:
        refuse("OAuthSettings", oauth_flaws(client_id=self.client_id, scopes=self.scopes, secret=self.client_secret))
        refuse("OAuthSettings", chain(choice_flaws("grant", self.grant, GRANTS), _client_flaws(self)))
        object.__setattr__(self, "scopes", texts(self.scopes))
        for name in ("client_secret", "private_key"):
            value = getattr(self, name)
            object.__setattr__(self, name, Secret(value) if isinstance(value, str) else value)

    @property
    def document_url(self) -> str | None:
        """Where the client's own metadata document lies, if its id is such a place."""
        parts = urlsplit(self.client_id or "")
        return self.client_id if parts.scheme == "https" and parts.path not in {"", "/"} else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text that may not be shown, revealed for whoever has to look for it."""
        given = (self.client_secret, self.private_key)
        return tuple(value.reveal() for value in given if isinstance(value, Secret))


def oauth_flaws(*, client_id: Any, scopes: Any, secret: Any) -> Iterator[Flaw]:
    if client_id is not None and not (isinstance(client_id, str) and client_id.isprintable() and client_id.strip()):
        yield Flaw(("client_id",), "must be text, and not empty")
    if items(scopes) is None:
        yield Flaw(("scopes",), "must be a list of texts")
    given: tuple[Any, ...] = items(scopes) or ()
    for index, scope in enumerate(given):
        if not isinstance(scope, str) or not _SCOPE.fullmatch(scope):
            yield Flaw(("scopes", index), "must be one scope, without spaces or quotes")
    if secret is not None and not client_id:
        yield Flaw(("client_secret",), "goes with `client_id`, which is not given")


def _client_flaws(settings: OAuthSettings) -> Iterator[Flaw]:
    if settings.grant == "client" and not (settings.client_id and (settings.client_secret or settings.private_key)):
        yield Flaw(("grant",), "client needs a `client_id`, and a `client_secret` or a `private_key`")
    if settings.grant == "person" and settings.private_key is not None:
        yield Flaw(("private_key",), "goes with the grant `client`")
