"""Servers in containers of a real engine: reached, lost, found again, and gone without a trace."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ContainerTransport, Limits, RuntimeConfig, ServerConfig
from bascule.core.errors import ConnectFailed, ConnectionLost
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.transports.factory import dispatcher_for
from bascule.transports.process.docker_exec import DockerExecDispatcher
from support.command import bascule
from support.docker import Container, DockerEngine, reached
from support.http_servers import socket_file
from support.runtime import QUICKLY, TIMEOUTS
from support.servers import CAP, argv, opened
from support.streams import a_request
from support.waiting import fail_after, until

SECRET = "s3cret-of-a-server"


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    with reached() as engine:
        yield engine


@pytest.fixture(scope="module")
def shared(engine: DockerEngine) -> Iterator[Container]:
    with engine.container() as container:
        yield container


@pytest.fixture
def box(shared: Container) -> Iterator[Container]:
    """One that runs, and in which nothing else does: neither before nor after."""
    assert shared.processes() == {}
    yield shared
    assert shared.processes() == {}


def inside(container: str, name: str, *args: object, **env: str) -> ContainerTransport:
    program, *arguments = argv(name, *args)
    return ContainerTransport(container, program, tuple(arguments), env=env)


def dispatcher_to(transport: ContainerTransport) -> DockerExecDispatcher:
    made = dispatcher_for(ServerConfig("work", transport), max_message=2 * CAP, environ=os.environ)
    assert isinstance(made, DockerExecDispatcher)
    return made


@asynccontextmanager
async def session_with(transport: ContainerTransport, folder: Path) -> AsyncGenerator[AgentSession]:
    limits = Limits(concurrent=None)
    server = ServerConfig("work", transport, timeouts=TIMEOUTS, restart=QUICKLY, limits=limits)
    config = RuntimeConfig({"work": server}, store=str(folder / "store.db"), message_max=2 * CAP)
    async with fail_after(90, "the life of a runtime"), Runtime(config) as runtime:
        yield runtime.session("alice", "s-1")


class Front:
    """A socket before the engine's own, which can go as an engine does."""

    def __init__(self, engine: DockerEngine, path: str) -> None:
        self.path = path
        self._engine = engine
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def come(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self.path)

    async def go(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        Path(self.path).unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_unix_connection(str(self._engine.socket))
        self._writers += (writer, outer)
        await asyncio.gather(_carry(reader, outer), _carry(inner, writer))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@asynccontextmanager
async def front_of(engine: DockerEngine) -> AsyncGenerator[Front]:
    with socket_file() as path:
        front = Front(engine, path)
        await front.come()
        try:
            yield front
        finally:
            await front.go()


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolResult), outcome
    return outcome.raw["content"][0]["text"]


def reason_of(outcome: Outcome) -> ToolFailure:
    assert isinstance(outcome, ToolFailure), outcome
    return outcome


@pytest.mark.long
async def test_a_server_killed_inside_fails_its_calls_and_the_next_call_has_a_new_one(box: Container, tmp_path: Path):
    async with session_with(inside(box.name, "obeying", tmp_path / "log"), tmp_path) as session:
        first = text_of(await session.call("work_act", {"pid": True}))
        pending = asyncio.create_task(session.call("work_act", {"silent": True}))
        await until(lambda: "silent" in (tmp_path / "log").read_text())
        (pid,) = box.processes()
        os.kill(pid, signal.SIGKILL)

        failure = reason_of(await pending)
        assert failure.kind is FailureKind.CONNECTION_ERROR
        assert "ended by signal 9" in failure.message
        assert text_of(await session.call("work_act", {"pid": True})) != first


@pytest.mark.long
async def test_a_container_that_is_killed_is_named_and_found_again_once_it_runs(engine: DockerEngine, tmp_path: Path):
    with engine.container() as box:
        async with session_with(inside(box.name, "obeying", tmp_path / "log"), tmp_path) as session:
            await session.call("work_act", {"pid": True})
            pending = asyncio.create_task(session.call("work_act", {"silent": True}))
            await until(lambda: "silent" in (tmp_path / "log").read_text())
            box.kill()
            assert f"the container {box.name} has stopped" in reason_of(await pending).message

            refused = reason_of(await session.call("work_act", {}))
            assert f"docker start {box.name}" in refused.fix
            box.start()
            outcome = await session.call("work_act", {"a": 1})
            assert json.loads(text_of(outcome)) == {"a": 1}


async def test_a_program_that_is_missing_is_told_in_the_engines_words(box: Container):
    dispatcher = dispatcher_to(ContainerTransport(box.name, "no-such-program"))
    with pytest.raises(ConnectFailed, match="no-such-program could not be started") as caught:
        await dispatcher.open()
    await dispatcher.close(1.0)
    assert "executable file not found" in caught.value.evidence
    assert "install no-such-program" in caught.value.fix


async def test_a_container_that_is_missing_is_told_with_a_fix(engine: DockerEngine):
    with pytest.raises(ConnectFailed, match="there is no container nobody") as caught:
        await dispatcher_to(ContainerTransport("nobody", "server")).open()
    assert "docker ps" in caught.value.fix


async def test_a_server_that_exits_at_once_is_lost_with_its_last_words_without_secrets(box: Container):
    code = "import os, sys; print('bad', os.environ['TOKEN'], file=sys.stderr); sys.exit(4)"
    program = argv("echo")[0]
    transport = ContainerTransport(box.name, program, ("-S", "-E", "-c", code), env={"TOKEN": SECRET})
    async with opened(dispatcher_to(transport)) as dispatcher:
        reason = await asyncio.shield(dispatcher.lost)
    assert isinstance(reason, ConnectionLost)
    assert (reason.message, reason.evidence) == ("the server exited with code 4", "bad ***")


async def test_an_engine_that_goes_is_told_and_the_server_sees_the_end_of_its_input(
    box: Container, monkeypatch: pytest.MonkeyPatch
):
    async with front_of(box.engine) as front:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{front.path}")
        async with opened(dispatcher_to(inside(box.name, "echo"))) as dispatcher:
            await front.go()
            reason = await asyncio.shield(dispatcher.lost)
        assert "the container engine ended the connection" in reason.message
        # Nobody could end it, so it has to end by itself.
        await until(lambda: box.processes() == {})


@pytest.mark.parametrize("name", ["stubborn", "parent"])
@pytest.mark.long
async def test_closing_leaves_no_process_inside(box: Container, name: str):
    """One that ignores the end of its input and TERM; and one that leaves a child in a session of its own."""
    dispatcher = dispatcher_to(inside(box.name, name, *(["--far"] if name == "parent" else [])))
    heard = asyncio.Event()
    dispatcher.on_notice = lambda _method, _params: heard.set()
    async with opened(dispatcher):
        if name == "parent":
            await heard.wait()
        assert len(box.processes()) == (2 if name == "parent" else 1)


@pytest.mark.long
async def test_closing_one_link_leaves_those_of_others(box: Container):
    async with opened(dispatcher_to(inside(box.name, "echo"))) as stays:
        async with opened(dispatcher_to(inside(box.name, "stubborn"))):
            pass
        params = {"name": "echo", "arguments": {"message": "still here"}}
        assert (await stays.send(a_request(params=params)))["content"][0]["text"] == "still here"


@pytest.mark.long
async def test_in_a_container_without_a_shell_nothing_is_left_either(engine: DockerEngine):
    with engine.container(path="/nowhere") as bare:
        async with opened(dispatcher_to(inside(bare.name, "stubborn"))):
            assert len(bare.processes()) == 1
        await until(lambda: bare.processes() == {})


async def test_the_server_sees_the_containers_variables_what_was_configured_and_nothing_of_ours(
    box: Container, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OURS", "theirs")
    monkeypatch.setenv("PASSED_ON", "yes")
    seen: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    code = """
import json, os, sys
seen = {"env": dict(os.environ), "cwd": os.getcwd()}
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/seen", "params": seen}), flush=True)
sys.stdin.read()
"""
    args = ("-S", "-E", "-c", code)
    program = argv("echo")[0]
    transport = ContainerTransport(box.name, program, args, "/usr", {"TOKEN": SECRET}, ("PASSED_*",))
    dispatcher = dispatcher_to(transport)
    dispatcher.on_notice = lambda _, params: seen.set_result(params)
    async with opened(dispatcher):
        found = await seen
    env = found["env"]
    assert found["cwd"] == "/usr"
    assert env.keys() - {"LC_CTYPE"} == {"PATH", "HOME", "HOSTNAME", "TOKEN", "PASSED_ON", "BASCULE_RUN"}
    assert (env["PATH"], env["TOKEN"]) == ("/usr/bin:/bin", SECRET)


@pytest.mark.long
async def test_the_command_line_names_the_transport(box: Container, tmp_path: Path):
    program, *arguments = argv("echo")
    entry = {"command": program, "args": arguments, "container": box.name}
    (tmp_path / "bascule.yaml").write_text(json.dumps({"mcp_servers": {"work": entry}}))
    host = {"DOCKER_HOST": os.environ["DOCKER_HOST"]}
    listed = await bascule(tmp_path, "list", "--json", env=host)
    called = await bascule(tmp_path, "call", "work_echo", "message=hi", env=host)
    assert "docker exec" in listed.out, listed.err
    assert "hi" in called.out, called.err
