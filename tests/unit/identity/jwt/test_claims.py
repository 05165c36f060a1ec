"""What a verified token says. What must be refused is tried by the hundred in tests/hostile/test_tokens.py."""

from secrets import token_bytes
from typing import Any

import pytest

from bascule.config.model.auth import Claims
from bascule.core.errors import ConfigError, NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.claims import (
    AT_SPAWN,
    LEEWAY,
    LONGEST_LIFE,
    ONE_PER_USER,
    Expected,
    Identity,
    audience_of_url,
    read_claims,
)
from bascule.identity.jwt.minting import Mint
from support.tokens import AUDIENCE, ISSUER, NOW, claims

EXPECTED = Expected(issuer=ISSUER, audience=AUDIENCE)


def read(expected: Expected = EXPECTED, **changes: Any) -> Identity:
    return read_claims(claims(**changes), expected, NOW)


def test_who_asks_is_read():
    assert read(jti="j") == Identity(Principal("alice", "s-1"), NOW + 600, frozenset(), "j")


@pytest.mark.parametrize("user", ["auth0|123", "ada@example.com", "a b", "Zoë", "a..b", "…", "x" * 255])
def test_ids_may_be_what_providers_give(user: str):
    assert read(sub=user).principal.user_id == user


def test_without_a_session_each_user_has_one():
    assert read(session_id=...).principal == Principal("alice", ONE_PER_USER)
    assert read(session_id=..., sub="bob").principal == Principal("bob", ONE_PER_USER)


def test_a_session_of_ours_is_claimed_by_our_own_tokens_only():
    with pytest.raises(NotIdentified, match="begins with bascule:"):
        read(session_id=ONE_PER_USER)

    ours = Expected(issuer=ISSUER, audience=AUDIENCE, ours=True)
    assert read(ours, session_id=ONE_PER_USER).principal.session_id == ONE_PER_USER


def test_claims_are_found_by_their_configured_names():
    named = Expected(issuer=ISSUER, audience=AUDIENCE, claims=Claims("email", "https://a.example/chat"))
    identity = read(named, **{"email": "ada@example.com", "https://a.example/chat": "c-1"})

    assert identity.principal == Principal("ada@example.com", "c-1")
    with pytest.raises(NotIdentified, match="claim email is missing"):
        read(named)


def test_a_dot_in_a_name_leads_nowhere():
    with pytest.raises(NotIdentified, match="missing"):
        read(Expected(issuer=ISSUER, audience=AUDIENCE, claims=Claims("a.b")), a={"b": "alice"})


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW - LEEWAY + 1},
        {"nbf": NOW + LEEWAY},
        {"iat": NOW + LEEWAY},
        {"exp": NOW + LONGEST_LIFE},
        {"exp": NOW + 0.5},
        {"iat": ...},
        {"aud": ["x", AUDIENCE]},
    ],
)
def test_these_are_still_good(changes: dict[str, Any]):
    assert read(**changes).principal.user_id == "alice"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"exp": NOW - LEEWAY}, "token_expired"),
        ({"exp": NOW + LONGEST_LIFE + LEEWAY + 1}, "token_time"),
        ({"nbf": NOW + LEEWAY + 1}, "token_time"),
        ({"exp": ...}, "token_time"),
        ({"exp": True}, "token_claims"),
        ({"iss": "x"}, "token_issuer"),
        ({"aud": "x"}, "token_audience"),
        ({"aud": [AUDIENCE, 5]}, "token_audience"),
        ({"sub": ...}, "token_claims"),
        ({"sub": "../x"}, "token_claims"),
        ({"sub": "\u200b"}, "token_claims"),
        ({"scope": ["a"]}, "token_claims"),
    ],
)
def test_each_refusal_names_its_rule(changes: dict[str, Any], rule: str):
    with pytest.raises(NotIdentified) as refused:
        read(**changes)
    assert (refused.value.rule, refused.value.error) == (rule, "invalid_token")


@pytest.mark.parametrize(
    ("changes", "scopes"),
    [({"scope": "a b"}, {"a", "b"}), ({"scp": "a b"}, {"a", "b"}), ({"scp": ["a", "b"]}, {"a", "b"}), ({}, set())],
)
def test_scopes_are_read(changes: dict[str, Any], scopes: set[str]):
    assert read(**changes).scopes == scopes


def test_a_missing_scope_is_told_as_such():
    needing = Expected(issuer=ISSUER, audience=AUDIENCE, scopes=frozenset({"read"}))
    with pytest.raises(NotIdentified) as refused:
        read(needing, scope="write")

    assert refused.value.error == "insufficient_scope"
    assert read(needing, scope="write read").scopes == {"read", "write"}


@pytest.mark.parametrize(("issuer", "audience"), [(None, None), (ISSUER, None), (None, AUDIENCE), ("", AUDIENCE)])
def test_issuer_and_audience_are_left_open_only_on_purpose(issuer: str | None, audience: str | None):
    with pytest.raises(ConfigError):
        Expected(issuer=issuer, audience=audience)

    open_to_all = Expected(issuer=issuer or None, audience=audience, development=True)
    assert read(open_to_all, **({} if issuer else {"iss": ...})).principal.user_id == "alice"


@pytest.mark.parametrize(
    ("url", "audience"),
    [
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://localhost:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://[::1]:8000/mcp", "http://127.0.0.1:8000/mcp"),
        ("http://127.0.0.1:8000/mcp/", "http://127.0.0.1:8000/mcp"),
        ("HTTPS://Records.Example/mcp", "https://records.example:443/mcp"),
        ("https://records.example:443/mcp", "https://records.example:443/mcp"),
        ("http://records.example", "http://records.example:80"),
        ("http://records.example/mcp?x=1#part", "http://records.example:80/mcp"),
    ],
)
def test_a_server_has_one_name_however_its_address_is_written(url: str, audience: str) -> None:
    assert audience_of_url(url) == audience


@pytest.mark.parametrize(
    "other",
    [
        "http://127.0.0.1:8001/mcp",
        "https://127.0.0.1:8000/mcp",
        "http://127.0.0.1:8000/other",
        "http://127.0.0.1:8000/MCP",
        "http://127.0.0.2:8000/mcp",
    ],
)
def test_another_server_has_another_name(other: str) -> None:
    assert audience_of_url(other) != audience_of_url("http://127.0.0.1:8000/mcp")


def test_no_server_is_called_so_that_it_would_believe_a_token_for_a_spawned_one() -> None:
    assert audience_of_url("spawn") != AT_SPAWN
    assert audience_of_url("bascule::spawn") != AT_SPAWN


async def test_a_token_for_a_spawned_server_is_believed_by_none_that_listens() -> None:
    mint = Mint(token_bytes(32))
    token = mint.token(Principal("alice", "s-1"), AT_SPAWN)

    assert (await mint.verifier(AT_SPAWN).verify(token)).principal.user_id == "alice"
    with pytest.raises(NotIdentified):
        await mint.verifier(audience_of_url("http://127.0.0.1:8000/mcp")).verify(token)
