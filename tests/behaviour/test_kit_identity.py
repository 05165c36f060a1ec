"""Who asks a server of the kit over HTTP: each of many at once, and never anybody else."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.to_thread
import pytest
from starlette.responses import JSONResponse

from bascule.config import AuthSettings, SharedSecret
from bascule.core.errors import ConfigError
from bascule.kit import GovernedServer, ToolPermission, create_mcp_server, get_session_id, get_user_id, tool_permission
from bascule.workspace import current_workspace
from support.kit import all_set
from support.kit_http import AUTH, Line, OldSession, asked, bearer, line_to, listening

URL = "https://records.example/mcp"

AT_ONCE = 50
"""Requests of different users, each on a connection of its own."""


def me() -> str:
    return f"{get_user_id()}/{get_session_id()}"


async def me_later() -> str:
    await asyncio.sleep(0)
    return me()


def kept(note: str) -> str:
    """Written to a file of the workspace, and read again."""
    workspace = current_workspace()
    assert workspace is not None
    workspace.write_text("note", note)
    return workspace.read_text("note")


def make_server() -> GovernedServer:
    mcp = create_mcp_server("records", auth=AUTH, url=URL)

    @mcp.tool
    @tool_permission(ToolPermission.WRITE)
    async def everywhere() -> dict[str, Any]:
        """Who asks, as it is seen before and after waiting, in threads and in subtasks."""
        seen = [me(), await me_later(), await anyio.to_thread.run_sync(me)]
        seen += await asyncio.gather(me_later(), asyncio.create_task(me_later()), asyncio.to_thread(me))
        async with anyio.create_task_group() as group:

            async def in_the_group() -> None:
                seen.append(await me_later())

            group.start_soon(in_the_group)
            group.start_soon(in_the_group)
        return {"seen": sorted(set(seen)), "times": len(seen), "file": await asyncio.to_thread(kept, me())}

    @mcp.tool
    @tool_permission(ToolPermission.WRITE)
    def in_a_thread() -> dict[str, Any]:
        return {"seen": [me()], "times": 1, "file": kept(me())}

    async def beside(_request: Any) -> JSONResponse:
        return JSONResponse(all_set())

    mcp.custom_route("/beside", methods=["GET"])(beside)
    return mcp


@pytest.fixture
async def port() -> AsyncGenerator[int]:
    async with listening(make_server().http_app()) as number:
        yield number


async def nothing_is_set(line: Line) -> None:
    """In the same process, and on the same connection, outside of every request of the protocol."""
    assert json.loads((await line.send(ask="GET /beside HTTP/1.1")).body) == []


def said(answer: Any) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    result = answer.message["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


@pytest.mark.long
@pytest.mark.requirement("KIT-2")
async def test_each_of_many_at_once_is_who_its_token_names(port: int, scale: int) -> None:
    users = [(f"user-{number}", f"session-{number}") for number in range(20 * scale)]
    tokens = {who: bearer(*who) for who in users}
    right = 0

    async def ask(line: Line, seed: int) -> None:
        """For all users, one after the other on one connection, in an order of its own."""
        nonlocal right
        for who in random.Random(seed).sample(users, len(users)):
            result = said(await line.call("everywhere", headers={"Authorization": tokens[who]}))
            assert result == {"seen": ["/".join(who)], "times": 8, "file": "/".join(who)}
            right += 1
        # Whoever comes next on the connection is not who came last.
        assert (await line.call("everywhere")).status == 401
        await nothing_is_set(line)

    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(line_to(port)) for _ in range(AT_ONCE)]
        await asyncio.gather(*(ask(line, seed) for seed, line in enumerate(lines)))
    assert right == AT_ONCE * len(users)


@pytest.mark.requirement("KIT-2")
async def test_in_a_session_of_the_old_era_each_request_is_its_own_tokens(port: int, scale: int) -> None:
    """Many principals, some of them the same user in several agent sessions, on one session that one of them has begun,
    one after the other and at once: they are refused, or themselves."""
    principals = [(f"user-{number % 3}", f"session-{number}") for number in range(12)]
    tokens = {who: bearer(*who) for who in principals}
    answered: dict[int, int] = {}

    async def ask(session: OldSession, seed: int) -> None:
        order = random.Random(seed)
        for who in order.sample(principals, len(principals)):
            answer = await session.call(order.choice(("everywhere", "in_a_thread")), tokens[who])
            answered[answer.status] = answered.get(answer.status, 0) + 1
            if answer.status == 200:
                result = said(answer)
                assert (result["seen"], result["file"]) == (["/".join(who)], "/".join(who))
            else:
                # Only who has begun it finds a session there; another agent session of the same user is another.
                assert (answer.status, who != principals[0]) == (404, True)
        assert (await session.call("everywhere", None)).status == 401
        await nothing_is_set(session.line)

    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(line_to(port)) for _ in range(4 * scale)]
        first = OldSession(lines[0])
        await first.begin(tokens[principals[0]])
        await asyncio.gather(*(ask(OldSession(line, first.id), seed) for seed, line in enumerate(lines)))
    assert answered == {200: len(lines), 404: 11 * len(lines)}


@pytest.mark.requirement("KIT-2")
async def test_a_name_in_the_arguments_is_nobody(port: int) -> None:
    answer = await asked(port, "in_a_thread", {"user_id": "root"}, Authorization=bearer("alice"))

    assert answer.message["result"]["isError"]


@pytest.mark.requirement("KIT-2")
async def test_identity_ends_with_the_token(port: int) -> None:
    changed: list[dict[str, Any]]
    changed = [{"exp": 1}, {"aud": "https://another.example"}, {"iss": "https://another.example"}, {"sub": ...}]
    for claims in changed:
        answer = await asked(port, "in_a_thread", None, Authorization=bearer("alice", **claims))
        assert (answer.status, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (401, True)


@pytest.mark.requirement("KIT-2")
@pytest.mark.parametrize(
    ("algorithm", "secret"),
    [("HS256", "secret"), ("HS256", "x" * 64), ("HS512", "k3y-of-31-bytes-is-too-short-ab"), ("none", "")],
)
def test_a_weak_or_known_secret_is_refused(algorithm: str, secret: str) -> None:
    with pytest.raises(ConfigError):
        SharedSecret(algorithm, secret)


@pytest.mark.requirement("KIT-1")
async def test_the_factory_wires_identity_and_who_may_ask(port: int) -> None:
    token = bearer("alice", "s-7")
    tried: list[tuple[dict[str, str | None], int]] = [
        ({"Authorization": token}, 200),
        ({}, 401),
        ({"Authorization": token, "Host": "evil.test"}, 421),
        ({"Authorization": token, "Origin": "https://evil.test"}, 403),
        ({"Authorization": token, "Origin": "http://127.0.0.1:1"}, 403),
        ({"Authorization": token, "Origin": "https://records.example"}, 200),
        ({"Authorization": token, "Content-Type": "text/plain"}, 415),
    ]
    for headers, status in tried:
        async with line_to(port) as line:
            answer = await line.call("in_a_thread", headers=headers)
        assert answer.status == status, headers
        assert status != 200 or said(answer)["seen"] == ["alice/s-7"]


@pytest.mark.requirement("KIT-1")
async def test_a_server_that_believes_nobody_is_not_served_over_http() -> None:
    with pytest.raises(ConfigError, match="believes nobody"):
        await create_mcp_server("records").run_async("http")
    with pytest.raises(ConfigError, match="at which address"):
        create_mcp_server("records", auth=AuthSettings()).http_app()


@pytest.mark.requirement("KIT-1")
async def test_a_development_principal_is_explicit_and_for_this_machine_alone() -> None:
    mcp = create_mcp_server("records", development="me")
    mcp.tool(tool_permission(ToolPermission.READ)(me), name="me")

    with pytest.raises(ConfigError, match="this machine alone"):
        await mcp.run_async("http", host="0.0.0.0")
    async with listening(mcp.http_app()) as port:
        assert (await asked(port, "me")).text == "me/development"
