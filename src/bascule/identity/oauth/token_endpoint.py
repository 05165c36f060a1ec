"""Token endpoint messages of OAuth: request forms, and parsing of the responses. Pure."""

import base64
from urllib.parse import quote, urlencode

import msgspec

from bascule.core.errors import LoginFailed
from bascule.core.json_types import JsonObject, as_text, is_object
from bascule.identity.oauth.login import Client, Login, Tokens

LONGEST_TOKEN = 64 * 1024
"""Characters. A longer one would not fit into the headers that any server takes."""

LONGEST_LIFE = 10 * 365 * 86400
"""Seconds. A token that claims to live longer has no end worth counting."""

Form = tuple[dict[str, str], bytes]
"""Headers and body of a request."""


def refresh_form(login: Login) -> Form:
    assert login.tokens is not None
    assert login.tokens.refresh is not None
    fields = {"grant_type": "refresh_token", "refresh_token": login.tokens.refresh}
    if login.resource is not None:
        fields["resource"] = login.resource
    return _form(login.client, fields)


def revocation_form(login: Login, token: str, kind: str) -> Form:
    return _form(login.client, {"token": token, "token_type_hint": kind})


def read_tokens(body: bytes, now: float, previous: Tokens | None = None) -> Tokens:
    """The tokens in an answer. What a refresh leaves out stays as it was. Raises `LoginFailed` on anything else."""
    reply = _json(body)
    access = as_text(reply.get("access_token"))
    kind = as_text(reply.get("token_type")) or "Bearer"
    if not access or not _sendable(access) or kind.lower() != "bearer":
        raise LoginFailed(
            "the login server answered with something that is no bearer token",
            where="token endpoint",
            evidence=f"fields: {', '.join(sorted(reply)[:12])[:200] or 'none'}",
            fix="ask whoever runs the login server",
        )
    refresh = as_text(reply.get("refresh_token"))
    life = _life(reply.get("expires_in"))
    return Tokens(
        access=access,
        refresh=refresh or (previous.refresh if previous is not None else None),
        obtained_at=now,
        expires_at=None if life is None else now + life,
        scope=as_text(reply.get("scope")) or (previous.scope if previous is not None else None),
    )


def refusal_in(body: bytes) -> str:
    """The error that a token endpoint names, in its own words."""
    reply = _json(body)
    told = [as_text(reply.get(key)) for key in ("error", "error_description")]
    return ": ".join(text for text in told if text)[:300]


def _form(client: Client, fields: dict[str, str]) -> Form:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if client.secret is not None and client.method == "client_secret_basic":
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        fields = {**fields, "client_id": client.client_id}
    if client.secret is not None and client.method == "client_secret_post":
        fields = {**fields, "client_secret": client.secret}
    return headers, urlencode(fields).encode()


def _json(body: bytes) -> JsonObject:
    try:
        reply = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return reply if is_object(reply) else {}


def _sendable(token: str) -> bool:
    """Whether it can stand in a header as it is. A line break in one would make two headers of it."""
    return len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable() and " " not in token


def _life(value: object) -> float | None:
    """Seconds to live. Some servers send the number as text; nonsense counts as spent, so that it is renewed."""
    if value is None:
        return None
    try:
        life = float(value) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0
    return min(life, LONGEST_LIFE) if life > 0 else 0.0
