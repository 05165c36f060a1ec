import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from secrets import token_bytes
from typing import Any

import pytest

from bascule.core.principal import Principal
from bascule.identity.jwt.minting import Mint
from bascule.identity.oauth.challenge import metadata_url, read_challenge
from bascule.kit import get_session_id, get_user_id
from bascule.kit.auth.token_auth import Shown, TokenAuth
from support.kit import ALICE, kit_server, reading
from support.kit_http import AUTH, asked, bearer, line_to, listening
from support.tokens import ISSUER

URL = "https://records.example/mcp"
METADATA = "https://records.example/.well-known/oauth-protected-resource/mcp"


@reading
def whoami() -> str:
    return f"{get_user_id()}/{get_session_id()}"


@pytest.fixture
async def port(tmp_path: Path) -> AsyncGenerator[int]:
    server = kit_server(tmp_path, tools=[whoami], auth=AUTH, url=URL, scopes=("records:read",))
    async with listening(server.http_app()) as number:
        yield number


def good(user: str = "alice", **claims: Any) -> str:
    return bearer(user, **{"scope": "openid records:read", **claims})


async def test_who_shows_a_good_token_is_let_in_as_who_it_names(port: int) -> None:
    answer = await asked(port, "whoami", Authorization=good("bob", session_id="s-9"))

    assert (answer.status, answer.text) == (200, "bob/s-9")


@pytest.mark.parametrize("header", [None, "Basic YTpi", "Bearer", ""])
async def test_who_shows_no_token_is_told_where_to_get_one_and_no_error(port: int, header: str | None) -> None:
    answer = await asked(port, "whoami", Authorization=header)
    challenge = read_challenge(answer.headers["www-authenticate"])

    assert (answer.status, answer.headers["www-authenticate"].split()[0]) == (401, "Bearer")
    assert (challenge.error, challenge.resource_metadata, challenge.scope) == ("", METADATA, "records:read")


async def test_the_metadata_lies_where_the_challenge_says(port: int) -> None:
    async with line_to(port) as line:
        answer = await line.send(ask="GET /.well-known/oauth-protected-resource/mcp HTTP/1.1")

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(answer.body) == {
        "resource": URL,
        "bearer_methods_supported": ["header"],
        "authorization_servers": [ISSUER],
        "scopes_supported": ["records:read"],
    }


@pytest.mark.parametrize(
    "header",
    [
        "Bearer nonsense",
        "Bearer a.b.c",
        good(aud="https://another.example"),
        good(iss="https://another.example"),
        good(exp=time.time() - 60),
        good(sub="../alice"),
        f"{good()[:-4]}AAAA",
    ],
)
async def test_a_bad_token_is_told_as_one(port: int, header: str) -> None:
    answer = await asked(port, "whoami", Authorization=header)
    challenge = read_challenge(answer.headers["www-authenticate"])

    assert (answer.status, challenge.error, challenge.resource_metadata) == (401, "invalid_token", METADATA)


async def test_a_token_that_allows_too_little_is_told_what_it_lacks(port: int) -> None:
    answer = await asked(port, "whoami", Authorization=good(scope="openid"))
    challenge = read_challenge(answer.headers["www-authenticate"])

    assert (answer.status, challenge.error, challenge.scope) == (403, "insufficient_scope", "records:read")


async def test_a_token_in_the_address_is_not_looked_at(port: int) -> None:
    async with line_to(port) as line:
        shown = good().removeprefix("Bearer ")
        assert (await line.call("whoami", path=f"/mcp?access_token={shown}")).status == 401


@pytest.mark.parametrize(
    "url", ["https://records.example/mcp", "https://records.example:8443/deep/mcp", "http://127.0.0.1:8000/mcp"]
)
def test_the_challenge_names_the_address_at_which_the_metadata_is_served(tmp_path: Path, url: str) -> None:
    app = kit_server(tmp_path, auth=AUTH, url=url).http_app(path="/mcp")

    paths = [getattr(route, "path", "") for route in app.routes]
    endpoint = next(getattr(route, "endpoint", None) for route in app.routes if getattr(route, "path", "") == "/mcp")
    assert str(getattr(endpoint, "resource_metadata_url", "")) == metadata_url(url)
    assert f"/{metadata_url(url).split('/', 3)[3]}" in paths


async def test_what_was_verified_keeps_whose_it_is() -> None:
    mint = Mint(token_bytes(32))
    auth = TokenAuth(mint.verifier("records"), URL, (), frozenset())
    token = mint.token(ALICE, "records")

    shown = await auth.verify_token(token)

    assert isinstance(shown, Shown)
    assert (shown.principal, shown.subject, shown.client_id, shown.scopes) == (ALICE, "alice", "alice/s-1", [])
    assert await auth.verify_token(mint.token(Principal("alice", "s-1"), "another")) is None
    assert await auth.verify_token("") is None


async def test_what_the_runtime_may_do_is_not_asked_of_its_tokens() -> None:
    mint = Mint(token_bytes(32))
    auth = TokenAuth(mint.verifier("here"), URL, (), frozenset({"records:read"}))

    shown = await auth.verify_token(mint.token(ALICE, "here"))

    assert shown is not None
    assert shown.scopes == ["records:read"]
