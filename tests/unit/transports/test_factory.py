"""The transport a config asks for, with exactly what was configured."""

import asyncio
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from bascule.config import (
    ContainerTransport,
    InProcessTransport,
    Secret,
    ServerConfig,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.model.transport import NoTransport
from bascule.core.errors import ConfigError, ConnectionLost, LoginNeeded
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.transports.auth.oauth_credentials import Logins
from bascule.transports.auth.providers import Introducing
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.factory import by_older_way, dial, dispatcher_for, overheard
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.legacy_sse import SseDispatcher
from bascule.transports.http.shared_connections import Hosts
from bascule.transports.inprocess.memory import MemoryDispatcher
from bascule.transports.process.docker_exec import DockerExecDispatcher
from bascule.transports.process.stdio import StdioDispatcher
from bascule.transports.websocket.dispatcher import WebSocketDispatcher
from support.fake_engine import BOX, fake_engine
from support.http_servers import Asked, http_reply, raw_server, raw_unix_server, result_body
from support.login_place import place
from support.servers import opened
from support.sse_servers import sse_peer
from support.streams import a_request
from support.waiting import fail_after, until
from support.ws_servers import ws_server

PARENT = {"PATH": "/usr/bin:/bin", "HOME": "/home/alice", "AWS_SECRET": "theirs", "MY_ONE": "1", "MY_TWO": "2"}
TOKEN = "hunter2hunter2"

SEEN = """
import json, os, sys
seen = {"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:]}
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/seen", "params": seen}), flush=True)
sys.stdin.read()
"""


def made(transport: Any, max_message: int = 1_000_000, **config: Any) -> Dispatcher:
    server = ServerConfig(name="work", transport=transport, **config)
    return dispatcher_for(server, max_message=max_message, environ=PARENT)


def python(code: str, *args: str, **options: Any) -> StdioTransport:
    return StdioTransport(command=sys.executable, args=("-S", "-E", "-c", code, *args), **options)


async def seen_by_child(*args: str, **options: Any) -> dict[str, Any]:
    """What a server started by such a config can see of itself."""
    seen: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    dispatcher = made(python(SEEN, *args, **options))
    dispatcher.on_notice = lambda _, params: seen.set_result(params)
    async with opened(dispatcher):
        return await seen


async def test_each_transport_has_its_dispatcher():
    transports = {
        StdioDispatcher: StdioTransport(command="work"),
        DockerExecDispatcher: ContainerTransport("box", "work"),
        HttpDispatcher: StreamableHttpTransport(url="http://127.0.0.1:9/mcp"),
        WebSocketDispatcher: WebSocketTransport(url="ws://127.0.0.1:9/mcp"),
        SseDispatcher: SseTransport(url="http://127.0.0.1:9/sse"),
        MemoryDispatcher: InProcessTransport(object()),
    }

    assert [type(made(transport)) for transport in transports.values()] == [*transports]


async def test_a_dispatcher_opens_nothing_by_being_made(tmp_path: Path):
    made(python(f"open({str(tmp_path / 'started')!r}, 'w')"))

    assert list(tmp_path.iterdir()) == []


def test_only_where_the_config_leaves_it_open_is_there_an_older_way():
    auto, http = (StreamableHttpTransport("http://h.test/x", {"X-Key": "k"}, choice) for choice in ("auto", "http"))
    older = by_older_way(ServerConfig(name="work", transport=auto, era="old"))

    assert older == ServerConfig(name="work", transport=SseTransport("http://h.test/x", {"X-Key": "k"}), era="old")
    for transport in (http, SseTransport("http://h.test/x"), StdioTransport(command="work")):
        assert by_older_way(ServerConfig(name="work", transport=transport)) is None


def test_a_server_without_a_transport_raises_its_own_reason():
    reason = ConfigError("TOKEN is not set")
    with pytest.raises(ConfigError) as caught:
        made(NoTransport("stdio"), unavailable_reason=reason)

    assert caught.value is reason


# A child process


async def test_a_child_sees_the_safe_base_what_was_configured_and_nothing_else():
    seen = await seen_by_child(env={"TOKEN": Secret(TOKEN), "HOME": "/elsewhere"})

    # Python itself may add a locale for its child.
    assert {name: value for name, value in seen["env"].items() if name != "LC_CTYPE"} == {
        "PATH": PARENT["PATH"],
        "HOME": "/elsewhere",
        "TOKEN": TOKEN,
    }


async def test_a_child_inherits_what_is_named_by_name_or_glob():
    seen = await seen_by_child(inherit_env=("MY_*",))

    assert {name for name in seen["env"] if name != "LC_CTYPE"} == {"PATH", "HOME", "MY_ONE", "MY_TWO"}


async def test_a_child_gets_its_arguments_as_they_are_and_its_folder(tmp_path: Path):
    seen = await seen_by_child("$HOME", "a b; exit", cwd=str(tmp_path))

    assert (seen["argv"], seen["cwd"]) == (["$HOME", "a b; exit"], str(tmp_path))


async def test_in_a_container_nothing_of_ours_is_seen_but_what_was_named():
    seen: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    async with fake_engine() as engine:
        given: dict[str, Any] = {"env": {"TOKEN": "a"}, "inherit_env": ("MY_*",), "cwd": "/usr"}
        inside = ContainerTransport(BOX, sys.executable, ("-S", "-E", "-c", SEEN, "x y"), **given)
        parent = {**PARENT, "DOCKER_HOST": f"unix://{engine.socket}"}
        server = ServerConfig(name="work", transport=inside)
        dispatcher = dispatcher_for(server, max_message=1_000_000, environ=parent)
        dispatcher.on_notice = lambda _, params: seen.set_result(params)
        async with opened(dispatcher):
            found = await seen
        env = dict(each.split("=", 1) for each in engine.runs[0].asked["Env"])
    assert {name for name in env if name != "BASCULE_RUN"} == {"TOKEN", "MY_ONE", "MY_TWO"}
    assert (found["cwd"], found["argv"]) == ("/usr", ["x y"])
    assert found["env"]["TOKEN"] == "a"


async def test_what_a_server_in_a_container_writes_to_stderr_is_told_without_its_secrets():
    told: list[tuple[Principal, str]] = []
    async with fake_engine() as engine:
        environ = {"DOCKER_HOST": f"unix://{engine.socket}"}
        inside = ContainerTransport(BOX, "sh", ("-c", 'echo "key $TOKEN" >&2; cat'), env={"TOKEN": TOKEN})
        server = ServerConfig(name="work", transport=inside)
        alice = Principal("alice", "s-1")
        dispatcher = overheard(
            lambda _: dispatcher_for(server, max_message=1000, environ=environ),
            lambda who, _pid, line: told.append((who, line)),
            alice,
        )
        async with opened(dispatcher):
            await until(lambda: bool(told))
    assert told == [(alice, "key ***")]


async def test_configured_values_are_hidden_in_what_a_child_said():
    code = 'import os, sys; sys.exit(f\'no entry for {os.environ["TOKEN"]} at {os.environ["PLACE"]}\')'
    dispatcher = made(python(code, env={"TOKEN": Secret(TOKEN), "PLACE": "the back door"}))
    async with opened(dispatcher):
        with pytest.raises(ConnectionLost) as caught:
            await dispatcher.send(a_request("server/discover"))

    assert caught.value.evidence == dispatcher.evidence() == "no entry for *** at ***"


async def test_inherited_values_are_hidden_too_and_the_safe_base_is_not():
    code = 'import os, sys; sys.exit(f\'{os.environ["AWS_SECRET"]} is not for {os.environ["HOME"]}\')'
    dispatcher = made(python(code, inherit_env=("AWS_*",)))
    async with opened(dispatcher):
        await dispatcher.lost

    assert dispatcher.evidence() == "*** is not for /home/alice"


async def test_a_child_is_held_to_the_cap_on_messages():
    dispatcher = made(python("print('x' * 2000, flush=True); input()"), max_message=1000)
    async with opened(dispatcher):
        assert "longer than 1000 bytes" in (await dispatcher.lost).message


# A URL


async def test_configured_headers_reach_the_server_in_the_clear():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(result_body(asked.id, {"ok": True})))

    async with fail_after(20), raw_server(answer) as server:
        transport = StreamableHttpTransport(url=server.url, headers={"Authorization": Secret(f"Bearer {TOKEN}")})
        async with opened(made(transport)) as dispatcher:
            assert await dispatcher.send(a_request("server/discover")) == {"ok": True}

    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_a_socket_file_is_asked_for_the_path_that_its_address_names():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(result_body(asked.id, {"ok": True})))

    async with fail_after(20), raw_unix_server(answer) as server:
        for path in ("", ":/other?a=b"):
            transport = UnixSocketTransport(f"unix://{server.socket}{path}", {"Authorization": f"Bearer {TOKEN}"})
            async with opened(made(transport)) as dispatcher:
                assert await dispatcher.send(a_request("server/discover")) == {"ok": True}

    assert [asked.path for asked in server.asked] == ["/mcp", "/other?a=b"]
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {TOKEN}"}


async def test_a_websocket_is_opened_with_the_configured_headers_within_the_configured_time_and_cap():
    seen: list[str] = []

    async def talk(connection: Any) -> None:
        seen.append(connection.request.headers["Authorization"])
        await connection.send("x" * 1001)
        await connection.wait_closed()

    async with fail_after(20), ws_server(talk) as url:
        transport = WebSocketTransport(url, {"Authorization": Secret(f"Bearer {TOKEN}")})
        async with opened(made(transport, max_message=1000)) as dispatcher:
            assert "longer than 1000 bytes" in (await dispatcher.lost).message

    assert seen == [f"Bearer {TOKEN}"]


async def test_configured_headers_reach_a_server_of_http_with_sse_too():
    async with sse_peer() as peer:
        transport = SseTransport(url=peer.url, headers={"Authorization": Secret(f"Bearer {TOKEN}")})
        async with opened(made(transport)) as dispatcher:
            await dispatcher.send(a_request("initialize"))

    assert {asked.headers["authorization"] for asked in peer.server.asked} == {f"Bearer {TOKEN}"}


async def test_a_remote_server_is_dialled_as_the_user_who_is_logged_in(tmp_path: Path):
    async with place(tmp_path) as at:
        await at.logged_in()
        server = ServerConfig("notes", StreamableHttpTransport(at.fake.url))
        logins = Logins(at.vault, None, lambda: at.now)
        for user, header in (("alice", "Bearer access-token-1"), ("bob", "")):
            made = dial(
                server,
                Principal(user, "s"),
                introducing=Introducing(logins),
                mask=at.mask,
                max_message=1_000_000,
                environ=PARENT,
            )
            async with opened(made) as link:
                with suppress(LoginNeeded):
                    await link.send(a_request())
            assert at.fake.authorizations[-1] == header


async def test_only_one_principal_on_one_lane_has_connections_in_common(tmp_path: Path):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(result_body(asked.message.get("id"), {})))

    hosts, alice, bob = Hosts(), Principal("alice", "s"), Principal("bob", "s")
    async with fail_after(20), raw_server(answer) as server, place(tmp_path) as at, AsyncExitStack() as stack:
        introducing = Introducing(Logins(at.vault, None, lambda: at.now))

        async def asked_by(principal: Principal, path: str, lane: Lane = Lane.OPEN) -> int:
            config = ServerConfig("notes", StreamableHttpTransport(server.url.replace("/mcp", path)))
            terms: dict[str, Any] = {"introducing": introducing, "mask": at.mask, "environ": PARENT, "lane": lane}
            made = dial(config, principal, max_message=1_000_000, hosts=hosts, **terms)
            link = await stack.enter_async_context(opened(made))
            await link.send(a_request())
            return server.connections

        assert await asked_by(alice, "/a") == 1
        assert await asked_by(alice, "/b") == 1
        assert await asked_by(bob, "/a") == 2
        assert await asked_by(Principal("alice", "other"), "/a") == 3
        assert await asked_by(alice, "/a", Lane.SEALED) == 4
        assert await asked_by(alice, "/c") == 4
