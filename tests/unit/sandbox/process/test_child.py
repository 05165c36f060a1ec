import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop

from bascule.core.errors import SandboxError
from bascule.sandbox.process import fork_server
from bascule.sandbox.process.child import Child, Command, Pipes, kill_all, spawn
from support.children import children, keepers
from support.processes import ended
from support.servers import argv, command
from support.waiting import fail_after


class Stdin(asyncio.BaseProtocol):
    """Notes when writing is to pause and to go on."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def pause_writing(self) -> None:
        self._note("paused")

    def resume_writing(self) -> None:
        self._note("resumed")


class Reading(asyncio.Protocol):
    """Keeps what comes."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self.data = b""
        self.ended = False

    def data_received(self, data: bytes) -> None:
        self.data += data
        self._note("data")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._note("ended")


class Witness:
    """Writes down what goes through a child's pipes."""

    def __init__(self) -> None:
        self.writing: list[str] = []
        self.stdin = Stdin(self._note)
        self.stdout = Reading(self._note)
        self.stderr = Reading(self._note)
        self._happened = asyncio.Event()

    @property
    def pipes(self) -> Pipes:
        return Pipes(self.stdin, self.stdout, self.stderr)

    def _note(self, event: str) -> None:
        if event in {"paused", "resumed"}:
            self.writing.append(event)
        self._happened.set()

    async def until(self, what: Callable[[], Any]) -> None:
        while not what():
            self._happened.clear()
            await self._happened.wait()

    async def line(self) -> str:
        await self.until(lambda: b"\n" in self.stdout.data)
        return self.stdout.data.decode().partition("\n")[0]


@asynccontextmanager
async def running(to_run: Command) -> AsyncGenerator[tuple[Child, Witness]]:
    witness = Witness()
    async with fail_after(20, "the life of a child"):
        child = await spawn(to_run, witness.pipes)
        try:
            yield child, witness
        finally:
            await child.close(1.0)


async def portrait(to_run: Command) -> dict[str, Any]:
    async with running(to_run) as (_, witness):
        return json.loads(await witness.line())


async def test_a_child_leads_a_session_and_a_group_of_its_own():
    async with running(command("portrait")) as (child, witness):
        seen = json.loads(await witness.line())

        assert os.getpgid(child.pid) == child.pid
        assert seen["group"] == seen["session"] == child.pid


async def test_arguments_reach_the_child_as_they_are_and_no_shell_reads_them():
    odd = ["$HOME", "`id`", "; exit 7", "a b", '"', "*", ""]

    assert (await portrait(command("portrait", *odd)))["argv"] == odd


async def test_the_environment_is_the_whole_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    env = {"PATH": "/bin:/usr/bin", "LANG": "C.UTF-8", "API_KEY": "k"}

    assert (await portrait(Command(argv("portrait"), env)))["env"] == env


async def test_no_file_of_ours_is_open_in_the_child(tmp_path: Path):
    with (tmp_path / "private").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)

        assert (await portrait(command("portrait")))["files"] == [0, 1, 2]


async def test_the_working_directory_is_the_one_asked_for(tmp_path: Path):
    assert (await portrait(command("portrait", cwd=tmp_path)))["cwd"] == str(tmp_path.resolve())


async def test_what_is_written_arrives_and_what_it_says_comes_back():
    code = "import sys; line = sys.stdin.readline(); print(line, end=''); print('hm', file=sys.stderr)"
    async with running(Command([sys.executable, "-S", "-c", code], dict(os.environ))) as (child, witness):
        child.write(b"hello\n")
        await witness.until(lambda: witness.stdout.ended and witness.stderr.ended)

        assert (witness.stdout.data, witness.stderr.data) == (b"hello\n", b"hm\n")
        assert await child.exited == child.code == 0


async def test_a_full_pipe_is_told_and_its_emptying_too():
    code = "import sys, signal; signal.sigwait({signal.SIGUSR1}); sys.stdin.read()"
    blocked = f"import signal; signal.pthread_sigmask(0, {{signal.SIGUSR1}}); print(flush=True)\n{code}"
    async with running(Command([sys.executable, "-S", "-c", blocked], dict(os.environ))) as (child, witness):
        await witness.line()
        child.write(b"x" * 1_000_000)
        assert witness.writing == ["paused"]

        os.kill(child.pid, signal.SIGUSR1)
        await witness.until(lambda: witness.writing == ["paused", "resumed"])


async def test_a_polite_child_ends_at_the_end_of_its_input():
    async with running(command("portrait")) as (child, witness):
        await witness.line()
        await child.close(30.0)

        assert child.code == 0


async def test_a_stubborn_child_gets_end_of_input_then_term_then_kill():
    async with running(command("stubborn")) as (child, witness):
        await witness.line()
        await child.close(1.0)

        assert witness.stdout.data.split() == [b"ready", b"EOF", b"TERM"]
        assert child.code == -signal.SIGKILL


async def left_by(witness: Witness) -> int:
    return json.loads(await witness.line())["params"]["pid"]


async def test_what_a_polite_server_left_running_is_ended_with_it():
    async with running(command("parent")) as (child, witness):
        left = await left_by(witness)
        await child.close(30.0)

        await ended(left)
        assert child.code == 0


async def test_what_a_crashed_server_left_running_is_ended_with_it():
    async with running(command("parent")) as (child, witness):
        left = await left_by(witness)
        os.kill(child.pid, signal.SIGKILL)

        await ended(left)
        assert await child.exited == -signal.SIGKILL


async def test_closing_can_be_asked_for_twice_and_from_several_tasks():
    async with running(command("stubborn")) as (child, witness):
        await witness.line()
        await asyncio.gather(*(child.close(0.2) for _ in range(3)))
        await child.close(0.2)

        assert child.code == -signal.SIGKILL


async def test_closing_twice_at_once_is_quiet_though_someone_else_holds_the_pipe():
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with running(command("parent", "--far")) as (child, witness):
        far = await left_by(witness)
        os.kill(child.pid, signal.SIGSTOP)
        child.write(b"x" * 1_000_000)
        await asyncio.gather(child.close(0.1), child.close(0.1))
        await ended(far)

    assert complaints == []


async def test_a_write_after_the_end_is_dropped():
    async with running(command("portrait")) as (child, _):
        await child.close(1.0)
        child.write(b"too late\n")


@pytest.mark.parametrize("steps", range(12))
async def test_a_making_cut_short_at_any_step_leaves_nothing(steps: int):
    before = children()
    async with fail_after(20, "the end of the making"):
        making = asyncio.create_task(spawn(command("stubborn"), Witness().pipes))
        for _ in range(steps):
            await asyncio.sleep(0)
        if making.cancel():
            with pytest.raises(asyncio.CancelledError):
                await making
        else:
            await making.result().close(0.1)

    assert children() == before


@pytest.mark.parametrize("pipe", ["stdin", "stdout", "stderr"])
async def test_a_making_cut_short_between_its_pipes_leaves_nothing(pipe: str):
    before = children()
    witness = Witness()
    async with fail_after(20, "the end of the making"):
        making = asyncio.create_task(spawn(command("stubborn"), witness.pipes))
        getattr(witness, pipe).connection_made = lambda _: making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making

    assert children() == before


async def test_a_child_lives_and_dies_the_same_without_a_keeper(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fork_server._house, "without", "for once")
    async with running(command("stubborn")) as (child, witness):
        await witness.line()
        assert psutil.Process(child.pid).ppid() == os.getpid()
        await child.close(0.2)

        assert child.code == -signal.SIGKILL
        assert not child.orphaned


async def test_what_a_server_has_left_far_away_is_ended_with_it():
    async with running(command("parent", "--far")) as (child, witness):
        far = await left_by(witness)
        await child.close(30.0)

        assert child.code == 0
        assert not psutil.pid_exists(far)


async def test_the_end_is_told_when_all_is_gone_though_something_held_the_pipes():
    async with running(command("parent", "--far")) as (child, witness):
        far = await left_by(witness)
        os.kill(child.pid, signal.SIGKILL)

        assert await child.exited == -signal.SIGKILL
        assert not psutil.pid_exists(far)
        await witness.until(lambda: witness.stdout.ended and witness.stderr.ended)


async def test_a_child_whose_keeper_is_killed_is_ended_with_it():
    async with running(command("stubborn")) as (child, witness):
        await witness.line()
        (keeper,) = keepers()
        os.kill(keeper, signal.SIGKILL)

        assert await child.exited == -signal.SIGKILL
        assert child.orphaned
        await ended(child.pid)


def test_a_child_lives_and_dies_the_same_on_uvloop():
    async def life() -> int | None:
        async with running(command("stubborn")) as (child, witness):
            await witness.line()
            await asyncio.gather(child.close(0.2), child.close(0.2))
            return child.code

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(life()) == -signal.SIGKILL


async def refusal(to_run: Command) -> SandboxError:
    with pytest.raises(SandboxError) as caught:
        await spawn(to_run, Witness().pipes)
    return caught.value


async def test_a_missing_command_is_named_with_the_path_it_was_looked_for_on():
    error = await refusal(Command(["no-such-server"], {"PATH": "/bin:/usr/bin"}))

    assert error.message == "command not found: no-such-server"
    assert error.evidence == "PATH=/bin:/usr/bin"
    assert error.fix == "install no-such-server, or give its full path as `command`"


async def test_the_path_searched_is_the_childs_and_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program(tmp_path / "only-ours")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "command not found" in (await refusal(Command(["only-ours"], {"PATH": "/bin"}))).message
    assert "command not found" in (await refusal(Command(["only-ours"], {}))).message


async def test_a_relative_command_is_looked_for_in_the_working_directory(tmp_path: Path):
    program(tmp_path / "here")

    async with running(Command(["./here"], {"PATH": "/bin"}, str(tmp_path))) as (child, _):
        assert await child.exited == 0


async def test_a_file_that_is_not_executable_is_told_with_the_command_that_makes_it_so(tmp_path: Path):
    server = program(tmp_path / "server", mode=stat.S_IRUSR)

    error = await refusal(Command([str(server)], {"PATH": "/bin"}))

    assert error.message == f"{server} cannot be run"
    assert error.fix == f"chmod +x {server}"


async def test_a_missing_working_directory_is_told_as_that(tmp_path: Path):
    error = await refusal(command("portrait", cwd=tmp_path / "gone"))

    assert error.message == f"the working directory {tmp_path / 'gone'} does not exist"
    assert error.fix == f"run `mkdir -p {tmp_path / 'gone'}`, or change `cwd`"


async def test_a_program_the_system_will_not_run_is_told_with_what_the_system_said(tmp_path: Path):
    server = tmp_path / "server"
    server.write_bytes(b"\x7fELF nothing")
    server.chmod(0o755)

    error = await refusal(Command([str(server)], {"PATH": "/bin"}))

    assert error.message == f"{server} could not be started"
    assert "Exec format error" in error.evidence
    assert "terminal" in error.fix


async def test_an_argument_no_process_can_take_is_a_refusal():
    assert "null byte" in (await refusal(Command([*argv("portrait"), "a\0b"], {"PATH": "/bin"}))).evidence


def program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(mode)
    return path


async def test_all_children_can_be_killed_without_waiting():
    async with running(command("stubborn")) as (one, witness), running(command("stubborn")) as (two, other):
        assert [await witness.line(), await other.line()] == ["ready", "ready"]
        kill_all()

        assert [await one.exited, await two.exited] == [-signal.SIGKILL, -signal.SIGKILL]
        kill_all()  # there is nothing left to kill


async def test_a_child_that_is_cut_off_gets_nothing_of_what_had_not_left_us(tmp_path: Path):
    async with running(command("deaf", tmp_path / "log")) as (child, witness):
        await witness.line()
        child.write(b"x" * 4_000_000)
        assert (child.backlog > 0, witness.writing) == (True, ["paused"])
        child.cut()
        assert child.backlog == 0
        os.kill(child.pid, signal.SIGUSR1)
        await child.exited
        assert 0 < (tmp_path / "log").stat().st_size <= 1_000_000
        child.cut()  # there is nothing left to cut
