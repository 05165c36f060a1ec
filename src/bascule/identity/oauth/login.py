"""Stored OAuth login: the tokens, the client that they were issued to, and the one server that may receive them."""

from math import inf
from typing import Literal, Self

import msgspec

from bascule.core.errors import StoreError

MARGIN = 30.0
"""Seconds before its end from which a token counts as spent: it still has to travel, and clocks differ."""

SHORT_MARGIN = 0.1
"""The part of a token's life that the margin may take. A token of half a minute would else be spent at its birth."""


class Client(msgspec.Struct, frozen=True):
    """Who we are to a login server."""

    client_id: str
    secret: str | None = None
    method: str | None = None
    """How it proves itself at the token endpoint, in the words of RFC 7591."""
    redirect_uri: str | None = None
    origin: Literal["given", "document", "registered"] = "registered"
    """From the config, from a metadata document, or made at the login server."""

    def __repr__(self) -> str:
        return f"Client({self.client_id!r})"


class Tokens(msgspec.Struct, frozen=True):
    """What a login server gave. Times are seconds since the epoch."""

    access: str
    refresh: str | None = None
    obtained_at: float = 0.0
    expires_at: float | None = None
    scope: str | None = None

    def __repr__(self) -> str:
        return f"Tokens(scope={self.scope!r}, expires_at={self.expires_at!r})"

    @property
    def good_until(self) -> float:
        if self.expires_at is None:
            return inf
        return self.expires_at - min(MARGIN, SHORT_MARGIN * max(0.0, self.expires_at - self.obtained_at))


class Login(msgspec.Struct, frozen=True):
    """One user's login for one server. Without tokens, only the client and what is to be asked for are remembered."""

    user_id: str
    server_url: str
    issuer: str
    token_endpoint: str
    client: Client
    tokens: Tokens | None = None
    revocation_endpoint: str | None = None
    resource: str | None = None
    """What the tokens were asked for, in the words of RFC 8707; None where the login server is too old to be told."""
    wanted: str = ""
    """Scopes that the server asked for and the tokens do not have."""
    peer: str | None = None
    """Peer address of the connection that gave the challenge: it limits the addresses of later token requests. None in
    a login of 0.1.0, which did not keep it."""

    @classmethod
    def read(cls, data: bytes, user_id: str, server_url: str) -> Self:
        """A kept login. Raises `StoreError` where it is damaged, or is not this user's for this server."""
        try:
            login = msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise _unusable("it cannot be read") from None
        if (login.user_id, login.server_url) != (user_id, server_url):
            raise _unusable("it belongs to another user or server")
        return login

    def written(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text in here that may not be shown."""
        tokens = self.tokens
        held = (self.client.secret, tokens and tokens.access, tokens and tokens.refresh)
        return tuple(text for text in held if text)

    def with_tokens(self, tokens: Tokens | None) -> "Login":
        if tokens is not None or not self.wanted:
            return msgspec.structs.replace(self, tokens=tokens, wanted="")
        # What the lost tokens had is wanted again, beside what they lacked.
        had = self.tokens.scope if self.tokens is not None else None
        return msgspec.structs.replace(self, tokens=None, wanted=joined_scopes(had, self.wanted))

    def wanting(self, scope: str) -> "Login":
        return msgspec.structs.replace(self, wanted=joined_scopes(self.wanted, scope))


def joined_scopes(*scopes: str | None) -> str:
    """All scopes of these lists, each once, in order."""
    return " ".join(dict.fromkeys(scope for text in scopes if text for scope in text.split()))


def _unusable(why: str) -> StoreError:
    return StoreError(
        f"the kept login cannot be used: {why}", fix="run `bascule logout` for this server, then `bascule login` again"
    )
