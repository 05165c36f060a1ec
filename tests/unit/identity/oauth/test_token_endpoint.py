"""What is sent to a token endpoint, and what its answers mean."""

import base64
from urllib.parse import parse_qs

import msgspec
import pytest

from bascule.core.errors import LoginFailed
from bascule.identity.oauth.login import Client, Login, Tokens
from bascule.identity.oauth.token_endpoint import read_tokens, refresh_form, refusal_in, revocation_form

NOW = 1000.0
OLD = Tokens("old-access", "old-refresh", 1.0, 2.0, "notes")


def login(client: Client, resource: str | None = "https://a.example/mcp") -> Login:
    return Login(
        "alice", "https://a.example/mcp", "https://l.example", "https://l.example/t", client, OLD, None, resource
    )


def reply(**fields: object) -> bytes:
    return msgspec.json.encode({"access_token": "new-access", "token_type": "Bearer", **fields})


def fields_of(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}


def test_a_public_client_names_itself_in_a_refresh():
    headers, body = refresh_form(login(Client("c 1", method="none")))

    assert "Authorization" not in headers
    assert fields_of(body) == {
        "grant_type": "refresh_token",
        "refresh_token": "old-refresh",
        "resource": "https://a.example/mcp",
        "client_id": "c 1",
    }


def test_a_client_with_a_secret_proves_itself_in_a_header():
    headers, body = refresh_form(login(Client("c:1", "s/ecret", "client_secret_basic"), None))

    assert headers["Authorization"] == "Basic " + base64.b64encode(b"c%3A1:s%2Fecret").decode()
    assert fields_of(body).keys() == {"grant_type", "refresh_token"}


def test_or_in_the_form_where_the_login_server_wants_it_there():
    headers, body = refresh_form(login(Client("c", "s/ecret", "client_secret_post")))

    assert "Authorization" not in headers
    assert fields_of(body)["client_secret"] == "s/ecret"


def test_a_revocation_names_the_token_and_its_kind():
    _, body = revocation_form(login(Client("c")), "old-refresh", "refresh_token")

    assert fields_of(body) == {"token": "old-refresh", "token_type_hint": "refresh_token", "client_id": "c"}


def test_tokens_are_read_with_their_end():
    tokens = read_tokens(reply(refresh_token="r", expires_in=60, scope="a b"), NOW)

    assert tokens == Tokens("new-access", "r", NOW, NOW + 60, "a b")


def test_what_a_refresh_leaves_out_stays_as_it_was():
    tokens = read_tokens(reply(), NOW, OLD)

    assert (tokens.access, tokens.refresh, tokens.scope, tokens.expires_at) == (
        "new-access",
        "old-refresh",
        "notes",
        None,
    )


@pytest.mark.parametrize(
    ("life", "end"), [("60", 1060.0), (1e300, NOW + 10 * 365 * 86400), (-5, NOW), ("soon", NOW), ([], NOW)]
)
def test_an_odd_lifetime_is_bounded(life: object, end: float):
    assert read_tokens(reply(expires_in=life), NOW).expires_at == end


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        reply(access_token=""),
        reply(access_token=7),
        reply(access_token="a\r\nX-Evil: 1"),
        reply(access_token="a b"),
        reply(access_token="ä"),
        reply(access_token="x" * 70_000),
        reply(token_type="mac"),
    ],
)
def test_anything_else_is_no_token(body: bytes):
    with pytest.raises(LoginFailed, match="no bearer token"):
        read_tokens(body, NOW)


def test_a_refused_answer_shows_the_names_of_its_fields_and_never_their_values():
    with pytest.raises(LoginFailed) as caught:
        read_tokens(msgspec.json.encode({"refresh_token": "very-secret"}), NOW)

    assert caught.value.evidence == "fields: refresh_token"


def test_a_refusal_is_told_in_the_login_servers_words():
    assert refusal_in(b'{"error": "invalid_grant", "error_description": "spent"}') == "invalid_grant: spent"
    assert refusal_in(b"<html>") == ""
