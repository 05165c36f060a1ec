"""Docker exec of a server in a container: its start, its messages, its end, and the attached connection."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, PermitLost, ProtocolViolation
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.spec.engine import Run
from bascule.transports.process.docker_exec import FIRST_WORDS, LONGEST_HEAD, Attachment, DockerExecDispatcher, attach
from bascule.transports.process.docker_kill import MARK
from support.fake_engine import BOX, FakeEngine, answer, fake_engine, frame
from support.servers import CAP, argv, opened
from support.streams import Leave, a_request
from support.waiting import fail_after, until

SECRET = "hunter2hunter2"


class GoneAfterOne(Leave):
    """Leave that is had when it is first asked for, and never again."""

    def valid(self) -> bool:
        given, self.given = self.given, False
        return given


@pytest.fixture
async def fake() -> AsyncGenerator[FakeEngine]:
    async with fail_after(60), fake_engine() as engine:
        yield engine


def server(fake: FakeEngine, *command: str, container: str = BOX, **env: str) -> DockerExecDispatcher:
    run = Run(container, command or argv("echo"), env)
    environ = {"DOCKER_HOST": f"unix://{fake.socket}"}
    return DockerExecDispatcher(run, max_message=CAP, environ=environ, hidden=(SECRET,))


def echo(dispatcher: DockerExecDispatcher, text: str, **terms: Any) -> "asyncio.Task[Any]":
    params = {"name": "echo", "arguments": {"message": text}}
    return asyncio.create_task(dispatcher.send(a_request(params=params, **terms)))


async def lost(dispatcher: DockerExecDispatcher) -> PeerError:
    return await asyncio.shield(dispatcher.lost)


async def test_requests_go_in_and_replies_come_back(fake: FakeEngine):
    async with opened(server(fake)) as dispatcher:
        replies = await asyncio.gather(*(echo(dispatcher, str(number)) for number in range(100)))
        assert dispatcher.pid is not None

    assert [reply["content"][0]["text"] for reply in replies] == [str(number) for number in range(100)]
    assert not any(run.running for run in fake.runs)


async def test_the_environment_is_what_was_given_and_a_mark_of_this_link(fake: FakeEngine):
    for _ in range(2):
        async with opened(server(fake, TOKEN="a")):
            pass
    servers = [run.asked["Env"] for run in fake.runs if run.asked["Env"]]
    assert [env[0] for env in servers] == ["TOKEN=a"] * 2
    assert all(len(env) == 2 and env[1].startswith(f"{MARK}=") for env in servers)
    assert servers[0][1] != servers[1][1]


async def test_a_program_that_is_missing_is_a_failed_start_in_the_engines_words(fake: FakeEngine):
    with pytest.raises(ConnectFailed, match="nope could not be started in the container box") as caught:
        async with opened(server(fake, "nope")):
            pass
    assert "OCI runtime exec failed" in caught.value.evidence
    assert "install nope" in caught.value.fix


async def test_a_container_that_is_missing_or_stopped_is_told_with_a_fix(fake: FakeEngine):
    with pytest.raises(ConnectFailed, match="there is no container other") as missing:
        await server(fake, container="other").open()
    assert "docker ps" in missing.value.fix
    fake.up = False
    with pytest.raises(ConnectFailed, match="does not run") as stopped:
        await server(fake).open()
    assert stopped.value.fix == "docker start box"
    fake.instead["/exec"] = answer(500, {"message": "disk full"})
    with pytest.raises(ConnectFailed, match="disk full"):
        await server(fake).open()


async def test_a_server_that_exits_is_lost_with_its_code_and_its_last_words_without_secrets(fake: FakeEngine):
    async with opened(server(fake, "sh", "-c", f"echo cannot log in with {SECRET} >&2; exit 3")) as dispatcher:
        reason = await lost(dispatcher)
        assert isinstance(reason, ConnectionLost)
        assert reason.message == "the server exited with code 3"
        assert reason.evidence == dispatcher.evidence() == "cannot log in with ***"


async def test_a_server_that_is_killed_fails_what_is_pending(fake: FakeEngine):
    async with opened(server(fake, *argv("mute", "nothing"))) as dispatcher:
        pending = echo(dispatcher, "x")
        await asyncio.sleep(0)
        assert dispatcher.pid is not None
        os.kill(dispatcher.pid, signal.SIGKILL)
        with pytest.raises(ConnectionLost, match="ended by signal 9") as caught:
            await pending
        assert caught.value.sent


async def test_a_container_that_stops_is_named(fake: FakeEngine):
    async with opened(server(fake)) as dispatcher:
        fake.up = False
        os.kill(dispatcher.pid or 0, signal.SIGKILL)
        assert (await lost(dispatcher)).message == "the container box has stopped"


async def test_an_engine_that_goes_is_named(fake: FakeEngine):
    async with opened(server(fake)) as dispatcher:
        fake.instead["/json"] = answer(500, {})
        os.kill(dispatcher.pid or 0, signal.SIGKILL)
        assert "the container engine ended the connection" in (await lost(dispatcher)).message


async def test_streams_that_cannot_be_told_apart_are_a_violation(fake: FakeEngine):
    fake.instead["/start"] = b"HTTP/1.1 101 UPGRADED\r\n\r\n" + b"plain text of a terminal"
    fake.instead["/json"] = answer(200, {"Running": True, "ExitCode": None, "Pid": 1})
    async with opened(server(fake)) as dispatcher:
        assert isinstance(await lost(dispatcher), ProtocolViolation)


async def test_what_a_server_says_first_is_kept_until_it_is_known_to_run(fake: FakeEngine):
    heard: list[str] = []
    hello = b'{"jsonrpc": "2.0", "method": "notifications/hello"}\n'
    flood = frame(1, hello) + frame(1, b"\n" * FIRST_WORDS)
    for first in (frame(1, hello), flood):
        fake.instead["/start"] = b"HTTP/1.1 101 UPGRADED\r\n\r\n" + first
        fake.instead["/json"] = answer(200, {"Running": True, "ExitCode": None, "Pid": 1})
        dispatcher = server(fake)
        dispatcher.on_notice = lambda method, _: heard.append(method)
        async with opened(dispatcher):
            await until(lambda: bool(heard))
        assert heard == ["notifications/hello"]
        heard.clear()


async def test_lines_of_stderr_are_told_as_they_come(fake: FakeEngine):
    told: list[tuple[int, str]] = []
    dispatcher = server(fake, "sh", "-c", f"read x; echo one >&2; echo {SECRET} >&2; printf end >&2")
    dispatcher.on_line = lambda pid, line: told.append((pid, line))
    async with opened(dispatcher):
        echo(dispatcher, "go").cancel()
        await dispatcher.notify("go")
        await lost(dispatcher)
    assert told == [(dispatcher.pid, "one"), (dispatcher.pid, "***"), (dispatcher.pid, "end")]


async def test_a_server_that_ignores_the_end_of_its_input_is_ended(fake: FakeEngine):
    dispatcher = server(fake, "sleep", "600")
    await dispatcher.open()
    await asyncio.gather(dispatcher.close(0.2), dispatcher.close(0.2))
    await until(lambda: not fake.runs[0].running)
    with pytest.raises(ConnectionLost):
        await echo(dispatcher, "x")
    with pytest.raises(ConnectFailed):
        await dispatcher.open()


async def test_one_that_is_closed_while_it_opens_leaves_nothing(fake: FakeEngine):
    for steps in range(6):
        dispatcher = server(fake, "sleep", "600")
        opening = asyncio.create_task(dispatcher.open())
        for _ in range(steps * 6):
            await asyncio.sleep(0)
        await dispatcher.close(0.2)
        await asyncio.wait((opening,))
        assert isinstance(opening.exception(), ConnectFailed)
    await until(lambda: not any(run.running for run in fake.runs))


async def test_one_whose_opening_is_given_up_leaves_nothing(fake: FakeEngine):
    dispatcher = server(fake, "sleep", "600")
    opening = asyncio.create_task(dispatcher.open())
    await until(lambda: any(path.endswith("/start") for path in fake.paths))
    opening.cancel()
    await asyncio.wait((opening,))
    await dispatcher.close(0.2)
    await until(lambda: not any(run.running for run in fake.runs))


async def test_without_leave_nothing_is_written(fake: FakeEngine):
    dispatcher = server(fake)
    dispatcher.leave = leave = Leave()
    async with opened(dispatcher):
        assert await echo(dispatcher, "x")
        leave.given = False
        with pytest.raises(PermitLost):
            await echo(dispatcher, "y")


async def test_without_leave_the_engine_is_asked_for_nothing(fake: FakeEngine):
    dispatcher = server(fake)
    dispatcher.leave = Leave(given=False)
    with pytest.raises(ConnectFailed, match="nothing may be written"):
        await dispatcher.open()
    await dispatcher.close(0.2)
    assert fake.paths == []


async def test_leave_that_goes_while_the_engine_is_asked_starts_nothing(fake: FakeEngine):
    dispatcher = server(fake)
    dispatcher.leave = GoneAfterOne()
    with pytest.raises(ConnectFailed, match="nothing may be written"):
        await dispatcher.open()
    await dispatcher.close(0.2)
    assert any(path.endswith("/exec") for path in fake.paths)
    assert not any(path.endswith("/start") for path in fake.paths)


async def test_a_severed_one_drops_what_waits(fake: FakeEngine):
    async with opened(server(fake, "sleep", "600")) as dispatcher:
        pending = [echo(dispatcher, "x" * 4_000_000) for _ in range(2)]
        for _ in range(3):
            await asyncio.sleep(0)
        dispatcher.sever(ConnectionLost("the level was raised"))
        results = await asyncio.gather(*pending, return_exceptions=True)
    assert all(isinstance(result, PeerError | PermitLost) for result in results)


TAKEN_OVER = b"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n"


class Notes:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.out = b""
        self.err = b""
        self.broken: list[PeerError] = []
        self.over = asyncio.Event()
        self.pauses: list[bool] = []

    def heard(self, data: bytes) -> None:
        self.out += data

    def said(self, data: bytes) -> None:
        self.err += data

    def broke(self, reason: PeerError) -> None:
        self.broken.append(reason)

    def hung_up(self) -> None:
        self.over.set()

    def pause_output(self) -> None:
        self.pauses.append(True)

    def resume_output(self) -> None:
        self.pauses.append(False)


@pytest.fixture
async def notes() -> Notes:
    return Notes()


async def begun(fake: FakeEngine, notes: Notes, *argv: str) -> Attachment:
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, argv or ("true",)))
    attachment = await attach(engine, notes)
    attachment.begin(run_id)
    return attachment


async def test_what_is_written_is_read_and_the_end_of_input_is_an_end(fake: FakeEngine, notes: Notes):
    attachment = await begun(fake, notes, "sh", "-c", "cat; echo done >&2")
    await attachment.answered
    attachment.write(b"hello")
    attachment.end_input()
    await notes.over.wait()

    assert (notes.out, notes.err, notes.broken) == (b"hello", b"done\n", [])
    attachment.write(b"into the void")
    attachment.end_input()
    assert attachment.backlog == 0


@pytest.mark.parametrize("status", [b"101 UPGRADED", b"200 OK"])
async def test_streams_may_follow_the_answer_at_once(fake: FakeEngine, notes: Notes, status: bytes):
    fake.instead["/start"] = b"HTTP/1.1 " + status + b"\r\n\r\n" + frame(1, b"out") + frame(2, b"err")
    attachment = await begun(fake, notes)
    await attachment.answered
    await notes.over.wait()

    assert (notes.out, notes.err) == (b"out", b"err")


async def test_a_refusal_is_told_with_its_status(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = answer(409, {"message": "Container box is paused"})
    attachment = await begun(fake, notes)
    with pytest.raises(EngineRefused, match="paused") as caught:
        await attachment.answered
    assert caught.value.status == 409
    await notes.over.wait()


async def test_an_engine_that_hangs_up_before_it_answers_is_told(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = b""
    attachment = await begun(fake, notes)
    with pytest.raises(EngineRefused, match="hung up"):
        await attachment.answered


async def test_headers_without_end_are_not_held(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = b"HTTP/1.1 101 UPGRADED\r\n" + b"x" * (LONGEST_HEAD + 1)
    attachment = await begun(fake, notes)
    with pytest.raises(ProtocolViolation):
        await attachment.answered


async def test_streams_that_cannot_be_told_apart_end_the_connection(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = TAKEN_OVER + frame(1, b"fine") + b"plain text of a terminal"
    await begun(fake, notes)
    await notes.over.wait()

    assert notes.out == b"fine"
    assert isinstance(notes.broken[0], ProtocolViolation)


async def test_whoever_writes_more_than_is_read_is_told_to_pause_and_a_cut_drops_it(fake: FakeEngine, notes: Notes):
    attachment = await begun(fake, notes, "sleep", "60")
    await attachment.answered
    attachment.write(b"x" * 4_000_000)
    assert notes.pauses[-1]
    assert attachment.backlog > 0
    attachment.cut()
    await notes.over.wait()
    assert attachment.backlog == 0


async def test_an_engine_that_is_not_there_is_told(tmp_path: Path, notes: Notes):
    with pytest.raises(ConnectFailed, match="cannot be reached"):
        await attach(Engine(str(tmp_path / "none")), notes)


def test_a_server_in_a_container_is_reached_on_uvloop():
    async def replied() -> str:
        async with fail_after(60), fake_engine() as fake, opened(server(fake)) as dispatcher:
            return (await echo(dispatcher, "here"))["content"][0]["text"]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(replied()) == "here"
