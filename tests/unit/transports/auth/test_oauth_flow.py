"""A login from the server's demand to tokens, and the many ways in which it must not come to one."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bascule.config import OAuthSettings
from bascule.core.errors import LoginFailed
from bascule.identity.oauth.challenge import Challenge
from bascule.identity.oauth.login import Login, Tokens
from bascule.identity.oauth.redirect import OnLogin
from bascule.transports.auth.oauth_flow import Wish, log_in
from bascule.transports.auth.oauth_requests import LONGEST_BODY, Fetch
from support.fake_login import FakeLogin, fake_login
from support.http_links import LONG
from support.waiting import fail_after

BACK = "http://127.0.0.1:7/callback"
NOW = 5000.0


async def try_login(fake: FakeLogin, ask: OnLogin | None = None, kept: Login | None = None, **settings: Any) -> Login:
    challenge = Challenge(resource_metadata=f"{fake.origin}/.well-known/oauth-protected-resource/mcp")
    wish = Wish("alice", fake.url, OAuthSettings(**settings), challenge, BACK, ask or fake.browser, kept)
    async with fail_after(LONG), Fetch(fake.url) as fetch:
        return await log_in(wish, fetch, NOW)


def reply(body: str | bytes, status: int = 200) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        raw = body if isinstance(body, bytes) else body.encode()
        return web.Response(body=raw, status=status, content_type="application/json")

    return answer


async def test_a_login_brings_tokens_bound_to_the_server():
    async with fake_login() as fake:
        login = await try_login(fake)

        assert login.tokens == Tokens("access-token-1", "refresh-token-1", NOW, NOW + 3600, "notes")
        assert (login.user_id, login.server_url, login.issuer) == ("alice", fake.url, fake.origin)
        assert (login.token_endpoint, login.revocation_endpoint) == (f"{fake.origin}/token", f"{fake.origin}/revoke")
        assert (login.client.client_id, login.client.origin, login.client.redirect_uri) == (
            "client-1",
            "registered",
            BACK,
        )
        assert login.resource == fake.url == fake.forms[0]["resource"]
        assert fake.registered[0]["redirect_uris"] == [BACK]
        assert len(fake.forms[0]["code_verifier"]) >= 43


async def test_a_client_made_before_is_used_again_at_the_same_place():
    async with fake_login() as fake:
        first = await try_login(fake)
        second = await try_login(fake, kept=first)

        assert second.client == first.client
        assert len(fake.registered) == 1


async def test_a_client_that_was_given_is_not_registered():
    async with fake_login() as fake:
        fake.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        login = await try_login(fake, client_id="mine", client_secret="the-secret")

        assert fake.registered == []
        assert (fake.forms[0]["client_id"], fake.forms[0]["client_secret"]) == ("mine", "the-secret")
        assert (login.client.origin, login.client.method) == ("given", "client_secret_post")


async def test_a_metadata_document_comes_before_registration_where_it_is_understood():
    document = "https://client.example/bascule.json"
    async with fake_login() as fake:
        fake.metadata = {"client_id_metadata_document_supported": True}
        login = await try_login(fake, client_id=document)
        assert (login.client.client_id, login.client.origin, fake.registered) == (document, "document", [])

        fake.metadata = {}
        login = await try_login(fake, client_id=document)
        assert login.client.client_id == "client-1"


@pytest.mark.parametrize(
    ("settings", "challenged", "kept", "asked"),
    [
        ({}, "", "", "notes"),
        ({}, "special", "", "special"),
        ({}, "", "more", "notes more"),
        ({"scopes": ("mine", "own")}, "special", "more", "mine own"),
    ],
    ids=["what is published", "what the server demands", "what was missing before", "the operator's word"],
)
async def test_what_is_asked_for(settings: dict[str, Any], challenged: str, kept: str, asked: str):
    asked_for: list[str] = []
    async with fail_after(LONG), fake_login() as fake, Fetch(fake.url) as fetch:
        before = (await try_login(fake)).wanting(kept) if kept else None

        async def ask(url: str) -> str | None:
            asked_for.append(parse_qs(urlsplit(url).query)["scope"][0])
            return await fake.browser(url)

        wish = Wish("alice", fake.url, OAuthSettings(**settings), Challenge(scope=challenged), BACK, ask, before)
        await log_in(wish, fetch, NOW)

    assert asked_for == [asked]


async def test_a_client_can_log_in_by_itself():
    async with fake_login() as fake:
        login = await try_login(fake, client_id="robot", client_secret="the-secret", grant="client")

        assert login.tokens is not None
        assert fake.asked[-1] == ("/token", "client_credentials")


async def test_a_client_can_prove_itself_by_a_key():
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    async with fake_login() as fake:
        await try_login(fake, client_id="robot", private_key=key.decode(), grant="client", issuer=fake.origin)

        assert fake.forms[0]["client_assertion"].count(".") == 2


async def test_a_clients_credentials_are_kept_from_any_other_issuer():
    pinned: dict[str, Any] = {"client_id": "robot", "client_secret": "the-secret", "issuer": "https://login.example"}
    async with fake_login() as fake:
        for grant in ("client", "person"):
            with pytest.raises(LoginFailed):
                await try_login(fake, grant=grant, **pinned)

        assert fake.forms == []


# What a server or a login server may do to us.


async def refused(fake: FakeLogin, match: str, ask: OnLogin | None = None, **settings: Any) -> LoginFailed:
    with pytest.raises(LoginFailed, match=match) as caught:
        await try_login(fake, ask, **settings)
    assert ("/token", "authorization_code") not in fake.asked or "token" in match
    return caught.value


async def test_metadata_of_another_issuer_is_refused():
    async with fake_login() as fake:
        fake.metadata = {"issuer": "https://login.example"}
        error = await refused(fake, "published about this login is wrong")

        assert "issuer mismatch" in error.evidence


async def test_metadata_of_another_resource_is_refused():
    async with fake_login() as fake:
        fake.prm = {"resource": "https://bank.example/mcp"}
        error = await refused(fake, "published about this login is wrong")

        assert "bank.example" in error.evidence


async def test_an_answer_of_another_issuer_is_refused():
    async with fake_login() as fake:
        fake.redirect = {"iss": "https://login.example"}
        await refused(fake, "another login server")


async def test_an_answer_without_the_promised_issuer_is_refused():
    async with fake_login() as fake:
        fake.redirect = {"iss": ""}
        await refused(fake, "published about this login is wrong")


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_a_login_server_without_pkce_is_refused(methods: list[str] | None):
    async with fake_login() as fake:
        fake.metadata = {"code_challenge_methods_supported": methods}
        await refused(fake, "PKCE")


async def test_metadata_over_the_cap_is_refused():
    async with fake_login() as fake:
        fake.metadata = {"padding": "x" * LONGEST_BODY}
        await refused(fake, "longer than")


@pytest.mark.parametrize("place", ["http://169.254.169.254/token", "http://login.example/token"])
async def test_a_token_endpoint_where_we_may_not_knock_gets_no_code(place: str):
    async with fake_login() as fake:
        fake.metadata = {"token_endpoint": place}
        await refused(fake, "is not followed")


async def test_nobody_is_sent_to_a_page_in_clear():
    async with fake_login() as fake:
        fake.metadata = {"authorization_endpoint": "http://login.example/authorize"}
        await refused(fake, "is not followed")


async def test_a_redirect_to_elsewhere_is_not_followed():
    async def away(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/metadata"})

    async with fake_login() as fake:
        fake.answers["/.well-known/oauth-authorization-server"] = away
        await refused(fake, "publishes nothing")


async def test_a_server_that_publishes_nothing_is_told_from_one_that_registers_nobody():
    async with fake_login() as fake:
        fake.answers["/register"] = reply('{"error": "access_denied"}', 403)
        error = await refused(fake, "does not register clients")
        assert "oauth.client_id" in error.fix
        assert "HTTP 403" in error.evidence

        fake.answers["/.well-known/oauth-authorization-server"] = reply("", 404)
        await refused(fake, "the login server publishes nothing about itself")

        fake.answers["/.well-known/oauth-protected-resource/mcp"] = reply("", 404)
        error = await refused(fake, "nothing that says where to log in")
        assert "headers.Authorization" in error.fix


@pytest.mark.parametrize(
    "body", [b"<html>", b"\xff\xfe", b"[]", b'{"refresh_token": "very-secret-token"}', b'{"access_token": "a\\nb"}']
)
async def test_rubbish_in_place_of_a_token_is_no_token(body: bytes):
    async with fake_login() as fake:
        fake.answers["/token"] = reply(body)
        error = await refused(fake, "no token|no bearer token")

        assert "very-secret" not in f"{error.message} {error.evidence}"


async def test_a_refused_code_is_told_in_the_login_servers_words():
    async with fake_login() as fake:
        fake.answers["/token"] = reply(b'{"error": "invalid_grant", "error_description": "\xff"}', 400)
        await refused(fake, "gave no token")
        fake.answers["/token"] = reply('{"error": "invalid_grant"}', 400)
        error = await refused(fake, "gave no token")

        assert error.evidence.endswith("/token: invalid_grant")


async def test_a_person_who_says_no_or_nothing_ends_the_login():
    async def nobody(url: str) -> None:
        return None

    async with fake_login() as fake:
        await refused(fake, "nobody has logged in", ask=nobody)
        fake.redirect = {"error": "access_denied"}
        await refused(fake, "the login was denied")


async def test_a_state_of_somebody_else_ends_the_login():
    async with fake_login() as fake:
        fake.redirect = {"state": "somebody-elses"}
        await refused(fake, "another login than the one that was begun")


async def test_where_nobody_can_be_asked_a_person_is_needed():
    async with fail_after(LONG), fake_login() as fake, Fetch(fake.url) as fetch:
        with pytest.raises(LoginFailed, match="nobody can be asked"):
            await log_in(Wish("alice", fake.url, OAuthSettings(), Challenge(), BACK), fetch, NOW)


async def test_nothing_of_a_failed_login_is_logged(caplog: pytest.LogCaptureFixture):
    async with fake_login() as fake:
        fake.answers["/token"] = reply('{"error": "the-answer"}', 400)
        with caplog.at_level(logging.DEBUG, "mcp.client.auth.oauth2"):
            await refused(fake, "gave no token")

    assert "the-answer" not in caplog.text
    assert "the-code-of-this-login" not in caplog.text
