"""Claims of a verified token, checked one by one and read as an identity, and the audiences of minted tokens."""

import re
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bascule.config.model.auth import Claims
from bascule.core.errors import ConfigError, NotIdentified, UsageError
from bascule.core.json_types import JsonObject, is_array
from bascule.core.principal import Principal
from bascule.identity.jwt.rejection import not_believed

LEEWAY = 30.0
"""Seconds by which clocks may differ."""

LONGEST_LIFE = 24 * 3600.0
"""Seconds that a token may still have to live. A token cannot be taken back, so one for a year is as good as none."""

RESERVED = "bascule:"
"""How session ids begin that are ours to give. No identity provider's token may claim one."""

ONE_PER_USER = f"{RESERVED}one-per-user"
"""The session id of whoever has a token without one: each user has one agent session then, always the same."""

MOST_AUDIENCES = 64
MOST_SCOPES = 256

_PATH = re.compile(r"[/\\]|%2f|%5c|%00", re.IGNORECASE)


class Expected(msgspec.Struct, frozen=True):
    """What a token must say to be meant for us."""

    issuer: str | None
    audience: str | None
    claims: Claims = Claims()
    scopes: frozenset[str] = frozenset()
    """What it must allow."""
    development: bool = False
    """Whether issuer and audience may be left open. Tokens of anybody for anybody are believed then, if a key fits."""
    ours: bool = False
    """Whether we have minted it. Then it may name any principal there can be, and session ids of ours."""
    longest_life: float = LONGEST_LIFE

    def __post_init__(self) -> None:
        if not self.development and not (self.issuer and self.audience):
            raise ConfigError(
                "tokens cannot be verified without knowing who issues them and whom they are for",
                problems=("auth.issuer and auth.audience are both needed",),
                fix="give `issuer` and `audience` as your identity provider writes them into its tokens",
            )


class Identity(msgspec.Struct, frozen=True):
    """Who asks, as a token proves it."""

    principal: Principal
    expires_at: float
    """Seconds since the epoch."""
    scopes: frozenset[str] = frozenset()
    token_id: str | None = None
    ours: bool = False
    """Whether our own mint has made it: what the operator's runtime may do is the runtime's to decide."""


def read_claims(claims: JsonObject, expected: Expected, now: float) -> Identity:
    """Who a verified token is about. Raises `NotIdentified` unless every claim has its shape, and fits."""
    expires_at = _check_times(claims, expected.longest_life, now)
    if expected.issuer is not None and claims.get("iss") != expected.issuer:
        raise not_believed("another issuer made it", "token_issuer")
    if expected.audience is not None and expected.audience not in _audiences(claims):
        raise not_believed("it is meant for another audience", "token_audience")
    for name in ("iss", "sub", "jti"):
        if name in claims:
            _text(claims, name)
    principal = _principal(claims, expected)
    scopes = _scopes(claims)
    if expected.scopes - scopes:
        raise NotIdentified(
            "the token does not allow this",
            rule="token_scope",
            error="insufficient_scope",
            fix=f"ask for a token with the scope {' '.join(sorted(expected.scopes))}",
        )
    return Identity(principal, expires_at, scopes, claims.get("jti"), expected.ours)


def _check_times(claims: JsonObject, longest_life: float, now: float) -> float:
    expires_at = _seconds(claims, "exp")
    if expires_at is None:
        raise not_believed("it has no end (exp)", "token_time")
    if now >= expires_at + LEEWAY:
        raise not_believed("its time is up", "token_expired", fix="get a new token")
    if expires_at - now > longest_life + LEEWAY:
        raise not_believed(f"it lives for longer than {longest_life:g} seconds", "token_time")
    for name in ("nbf", "iat"):
        begins = _seconds(claims, name)
        if begins is not None and begins > now + LEEWAY:
            raise not_believed("its time has not come yet", "token_time", fix="compare the clocks of both machines")
    return expires_at


def _seconds(claims: JsonObject, name: str) -> float | None:
    if name not in claims:
        return None
    value = claims[name]
    # A whole number may be longer than any float; such a one is no time either.
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15 and isfinite(value)
    if not fits:
        raise not_believed(f"its claim {name} is no time", "token_claims")
    return float(value)


def _audiences(claims: JsonObject) -> list[Any]:
    value = claims.get("aud")
    listed = value if is_array(value) else [value]
    if not 0 < len(listed) <= MOST_AUDIENCES or not all(isinstance(each, str) for each in listed):
        raise not_believed("its claim aud is neither text nor a list of texts", "token_audience")
    return listed


def _scopes(claims: JsonObject) -> frozenset[str]:
    """`scope` as the standard has it; `scp`, which some providers write instead, as text or as a list."""
    value = claims.get("scope", claims.get("scp", ""))
    listed: list[Any] = value if is_array(value) and "scope" not in claims else [value]
    if len(listed) > MOST_SCOPES or not all(isinstance(each, str) for each in listed):
        raise not_believed("its scopes are not text", "token_claims")
    return frozenset(" ".join(listed).split())


def _principal(claims: JsonObject, expected: Expected) -> Principal:
    read = _text if expected.ours else _id
    user = read(claims, expected.claims.user)
    session = read(claims, expected.claims.session) if expected.claims.session in claims else ONE_PER_USER
    if not expected.ours and expected.claims.session in claims and session.startswith(RESERVED):
        raise not_believed(f"it claims a session id that begins with {RESERVED}", "token_claims")
    try:
        return Principal(user, session)
    except UsageError:
        raise not_believed("the ids it names are not 1 to 255 printable characters", "token_claims") from None


def _id(claims: JsonObject, name: str) -> str:
    value = _text(claims, name)
    # No folder is named by an id, so a path in one was meant for somebody who does that.
    if _PATH.search(value) or value in {".", ".."} or value != value.strip():
        raise not_believed(f"its claim {name} has a path in it, or blanks around it", "token_claims")
    return value


def _text(claims: JsonObject, name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str):
        raise not_believed(f"its claim {name} is {'missing' if name not in claims else 'no text'}", "token_claims")
    return value


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
