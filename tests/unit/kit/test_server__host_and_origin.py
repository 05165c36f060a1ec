"""Host, Origin and Content-Type checks: each row of the table is sent to a real server, byte by byte."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from bascule.identity.host_origin_check import HouseRules
from bascule.kit.server import Doorkeeper
from support.kit import kit_server, reading
from support.kit_http import asked, line_to, listening

JSON, TEXT, FORM = "application/json", "text/plain", "application/x-www-form-urlencoded"
NAMED, LOCAL, EVIL = "records.example", "localhost:{port}", "evil.test"
HERE = "127.0.0.1:{port}"


@reading
def ping() -> str:
    return "pong"


def app(folder: Path, **options: Any) -> Any:
    server = kit_server(folder, tools=[ping], development="me", url="https://records.example/mcp")
    return server.http_app(allowed_hosts=["*.inside.test"], allowed_origins=["https://app.example"], **options)


@pytest.fixture
async def port(tmp_path: Path) -> AsyncGenerator[int]:
    async with listening(app(tmp_path)) as number:
        yield number


MATRIX = [
    # Clients send no Origin: by whatever name of ours they call, they are let in.
    (200, HERE, None, JSON),
    (200, LOCAL, None, JSON),
    (200, "[::1]:{port}", None, JSON),
    (200, NAMED, None, JSON),
    (200, "db.inside.test:81", None, "Application/JSON; charset=utf-8"),
    # A page of our own, wherever clients reach us, and one that was allowed by name.
    (200, HERE, "http://127.0.0.1:{port}", JSON),
    (200, LOCAL, "http://LOCALHOST:{port}", JSON),
    (200, NAMED, "https://records.example", JSON),
    (200, HERE, "https://app.example:443", JSON),
    # A name that was made to lead here (DNS rebinding): its pages are of the same origin as what they ask.
    (421, EVIL, None, JSON),
    (421, "evil.test:{port}", "http://evil.test:{port}", JSON),
    (421, "127.0.0.1.evil.test", None, JSON),
    (421, "localhost.evil.test:{port}", "http://localhost.evil.test:{port}", JSON),
    (421, "me@evil.test", None, JSON),
    (421, "", None, JSON),
    # Pages of others, also of another program on this machine, and pages without an origin: files, sandboxed frames.
    (403, HERE, "https://evil.test", JSON),
    (403, HERE, "null", JSON),
    (403, HERE, "http://127.0.0.1:1", JSON),
    (403, HERE, "http://localhost:{port}", JSON),
    (403, HERE, "https://127.0.0.1:{port}", JSON),
    (403, HERE, "https://app.example.evil.test", JSON),
    (403, HERE, "", JSON),
    # What a page may send without being asked whether it may.
    (415, HERE, None, TEXT),
    (415, HERE, "http://127.0.0.1:{port}", FORM),
    (415, LOCAL, None, None),
    (415, NAMED, None, "application/json-patch+json"),
    # Of several faults, the one that says most about who asks.
    (421, EVIL, "https://evil.test", TEXT),
    (403, HERE, "https://evil.test", TEXT),
]


@pytest.mark.parametrize(("status", "host", "origin", "kind"), MATRIX)
async def test_who_is_let_in(port: int, status: int, host: str, origin: str | None, kind: str | None) -> None:
    headers = {"Host": host.format(port=port), "Origin": origin and origin.format(port=port), "Content_Type": kind}

    answer = await asked(port, "ping", None, **headers)

    assert answer.status == status, answer.body
    assert status != 200 or answer.text == "pong"


async def test_who_names_no_host_or_two_is_not_let_in(port: int) -> None:
    async with line_to(port) as line:
        assert (await line.send(b"{}", {"Host": None}, ask="POST /mcp HTTP/1.0")).status == 421
    async with line_to(port) as line:
        answer = await line.send(b"{}", {"host": f"127.0.0.1:{port}", "HOST": "evil.test"})
        assert answer.status in {400, 421}


async def test_host_and_origin_are_looked_at_for_every_method_and_path(port: int) -> None:
    for ask in ("GET /mcp HTTP/1.1", "DELETE /mcp HTTP/1.1", "OPTIONS /mcp HTTP/1.1", "GET /elsewhere HTTP/1.1"):
        for status, headers in ((421, {"Host": "evil.test"}), (403, {"Origin": "https://evil.test"})):
            async with line_to(port) as line:
                assert (await line.send(headers=headers, ask=ask)).status == status


@pytest.mark.parametrize("prefix", ["", "/inner", "/deep/inner"])
async def test_mounted_in_another_app_it_looks_at_the_same(tmp_path: Path, prefix: str) -> None:
    inner = app(tmp_path)
    outer = Starlette(routes=[Mount(prefix, app=inner)], lifespan=inner.lifespan)
    async with listening(outer) as port:
        tried: list[tuple[dict[str, str | None], int]]
        tried = [({}, 200), ({"Content-Type": "text/plain"}, 415), ({"Origin": "null"}, 403)]
        for headers, status in tried:
            async with line_to(port) as line:
                answer = await line.call("ping", headers=headers, path=f"{prefix}/mcp")
            assert answer.status == status


async def test_messages_of_the_older_transport_must_be_json_too(tmp_path: Path) -> None:
    async with listening(app(tmp_path, transport="sse")) as port, line_to(port) as line:
        answer = await line.send(b"{}", {"Content-Type": "text/plain"}, ask="POST /messages/?session_id=1 HTTP/1.1")
    assert answer.status == 415


async def test_what_is_no_request_passes() -> None:
    passed: list[Any] = []

    async def inside(scope: Any, *_: Any) -> None:
        passed.append(scope["type"])

    async def nothing(*_: Any) -> Any: ...

    doorkeeper = Doorkeeper(inside, rules=HouseRules(loopback_only=True), paths=("/mcp",))
    await doorkeeper({"type": "lifespan"}, nothing, nothing)
    assert passed == ["lifespan"]
