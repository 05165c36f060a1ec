"""What is bubblewrap's own: the network of open boxes, bounds without cgroups, and the end of a box by its engine."""

import ast
import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.cli.doctor.sandbox import engine_checks
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.config.model.sandbox import Sandbox
from bascule.core.sensitivity import Lane
from bascule.sandbox.bubblewrap.argv import NOT_MADE
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.engines import Engines
from bascule.sandbox.factory import Boxing
from bascule.sandbox.owner import Owner
from bascule.sandbox.process.child import Command, Pipes, spawn
from bascule.sandbox.spec.engine import NOT_BOUNDED
from bascule.sandbox.spec.run_command import ran
from integration.test_boxes_contain import FORK_BOMB, SHARED_MEMORY_HOG
from support.boxes import bubblewrap, ordered, python, run_in
from support.plain_user import plain_user, this_python
from support.processes import ended
from support.waiting import fail_after


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Bubblewrap]:
    async with bubblewrap(tmp_path / "state-of-boxes") as made:
        yield made


class Listening(asyncio.Protocol):
    """Hears the first word."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.heard.set()


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("running", [True, False])
async def test_a_box_is_ended_by_its_engine_though_somebody_else_started_it(
    engine: Bubblewrap, lane: Lane, bounded: bool, running: bool
) -> None:
    """With cgroups and without; in the middle of its life, and while it is being made."""
    if not bounded:
        engine.cgroups._places = {}
    box = engine.box(ordered("sh", "-c", "echo here; exec sleep 100", lane=lane))
    output = Listening()
    child = await spawn(await box.open(), Pipes(asyncio.BaseProtocol(), output, Listening()))
    try:
        async with fail_after(30, "the life of a box"):
            if running:
                await output.heard.wait()
            await box.close()
            assert await child.exited in {-signal.SIGKILL, NOT_MADE}
    finally:
        await child.close(0.1)
    assert not list(engine._folder.glob("probe-*"))


async def test_a_box_ends_with_whoever_started_it(engine: Bubblewrap) -> None:
    box = engine.box(ordered("sleep", "100"))
    child = await spawn(await box.open(), Pipes(asyncio.BaseProtocol(), Listening(), Listening()))
    pid = child.pid
    child.kill()
    async with fail_after(20, "the end of the box"):
        await ended(pid)
    await child.close(0.1)
    await box.close()


async def test_without_cgroups_memory_is_bounded_for_each_process(engine: Bubblewrap) -> None:
    engine.cgroups._places = {}
    assert engine.loosely_bounded
    settings = Sandbox(memory=128 * 1024**2, disk=16 * 1024**2)
    code = "held = [bytearray(b'x' * (8 << 20)) for _ in range(40)]"
    told = await run_in(engine, ordered(*python(code), settings=settings))
    assert (told.code, "MemoryError" in told.output) == (1, True)


WITHOUT_CGROUPS = """
import asyncio, sys, tempfile
from pathlib import Path
from bascule.cli.doctor.sandbox import engine_checks
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.config.model.sandbox import Sandbox
from support.boxes import bubblewrap, ordered, python, run_in
async def main():
    with tempfile.TemporaryDirectory() as state:
        async with bubblewrap(Path(state)) as engine:
            engine.cgroups._places = {}
            settings = Sandbox(pids=128, memory=128 * 1024**2)
            told = await run_in(engine, ordered(*python(sys.argv[1], *sys.argv[2:]), settings=settings))
            print(told.output.strip(), engine.bounds(), sep="\\n")
asyncio.run(main())
"""


async def without_cgroups(user: str, *program: str) -> tuple[str, dict[str, str]]:
    """The output of a program in a sandbox of this user, and the bounds that are reported for it."""
    prefix = plain_user() if user == "plain" else ()
    ended = await ran(Command([*prefix, sys.executable, "-c", WITHOUT_CGROUPS, *program], this_python()), 60)
    output, reported = ended.output.strip().splitlines()
    return output, ast.literal_eval(reported)


@pytest.mark.parametrize("user", ["root", "plain"])
async def test_without_cgroups_processes_are_bounded_as_reported(user: str) -> None:
    bomb = FORK_BOMB.replace("range(500)", "range(400)").replace("time.sleep(60)", "time.sleep(8)")
    output, reported = await without_cgroups(user, bomb)
    made, _, told = output.partition(" ")
    root = user == "root" and os.geteuid() == 0
    assert reported["pids"].startswith(NOT_BOUNDED) == root
    assert (int(made), told) == (400, "") if root else int(made) < 128 and told == str(errno.EAGAIN)


@pytest.mark.parametrize("user", ["root", "plain"])
@pytest.mark.parametrize("kind", ["memfd", "mapping"])
async def test_without_cgroups_shared_memory_is_reported_as_not_bounded(user: str, kind: str) -> None:
    output, reported = await without_cgroups(user, SHARED_MEMORY_HOG, kind)
    assert output == "all of it"
    assert f"{NOT_BOUNDED}: all together, and shared memory" in reported["memory"]


async def test_without_cgroups_doctor_names_each_bound_that_does_not_hold(engine: Bubblewrap) -> None:
    engine.cgroups._places = {}
    config = RuntimeConfig({"files": ServerConfig("files", StdioTransport("files"))})
    checks = await engine_checks(config, Boxing(Engines((engine,))))
    (check,) = [check for check in checks if "bounds of a sandbox" in check.message]
    assert check.status == "warn"
    for line in (f"cpus: {NOT_BOUNDED}", "memory: each process by itself", "this system has no cgroups"):
        assert line in check.evidence
    assert (f"pids: {NOT_BOUNDED}" in check.evidence) == (os.geteuid() == 0)


async def test_an_open_box_asks_for_names_through_this_machine(engine: Bubblewrap) -> None:
    """Where names are asked, whatever the machine's own nameserver is. Nothing is asked here."""
    if await engine.shares_host_network():
        pytest.skip("neither pasta nor slirp4netns works here (Debian: apt-get install passt)")
    told = await run_in(engine, ordered("cat", "/etc/resolv.conf", lane=Lane.OPEN))
    assert told.output in {"nameserver 169.254.1.1\n", "nameserver 10.0.2.3\n"}


@pytest.mark.parametrize("kind", ["pasta", "slirp4netns"])
async def test_each_kind_of_network_keeps_this_machine_s_loopback_to_itself(engine: Bubblewrap, kind: str) -> None:
    tools = engine._tools.paths
    if kind not in tools:
        pytest.skip(f"no {kind} (Debian: apt-get install passt slirp4netns)")
    for other in {"pasta", "slirp4netns"} - {kind}:
        object.__setattr__(engine._tools, "paths", {name: path for name, path in tools.items() if name != other})
    if await engine.shares_host_network():
        pytest.skip(f"{kind} does not work here: it needs /dev/net/tun")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    code = f"""
import socket
for address in ("127.0.0.1", "10.0.2.2", "169.254.1.1", "10.0.2.3"):
    with socket.socket() as tried:
        tried.settimeout(1)
        try:
            tried.connect((address, {port}))
            print("reached", address)
        except OSError as error:
            print("no")
"""
    with listening:
        local = code if kind == "slirp4netns" else code.replace('"10.0.2.2", "169.254.1.1", "10.0.2.3"', "")
        told = await run_in(engine, ordered(*python(local), lane=Lane.OPEN))
        assert "reached" not in told.output
        assert "no" in told.output
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


async def test_on_the_host_s_network_the_loopback_is_shared_and_that_is_said(engine: Bubblewrap) -> None:
    tools = engine._tools.paths
    paths = {name: path for name, path in tools.items() if name not in {"pasta", "slirp4netns"}}
    object.__setattr__(engine._tools, "paths", paths)
    assert "not installed" in await engine.shares_host_network()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        code = f"import socket; socket.create_connection(('127.0.0.1', {listening.getsockname()[1]})); print('reached')"
        assert (await run_in(engine, ordered(*python(code), lane=Lane.OPEN))).output == "reached\n"
        tight = await run_in(engine, ordered(*python(code), lane=Lane.SEALED))
        assert (tight.code, os.strerror(errno.ENETUNREACH) in tight.output) == (1, True)


async def test_a_sealed_sandbox_through_which_a_fifo_of_the_host_leads_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Neither a mask nor an overlay stands between the decoy and the sandbox. Each of them alone is enough."""
    monkeypatch.setattr("bascule.sandbox.mounts.masks.SEARCHED", frozenset[str]())
    monkeypatch.setattr("bascule.sandbox.bubblewrap.engine.is_private", lambda _: False)
    owner = Owner(tmp_path / "state")
    try:
        made = Bubblewrap(owner, dict(os.environ, BASCULE_HOME=str(tmp_path / "state")))
        assert "a FIFO of the host can be written to" in await made.why_not()
    finally:
        owner.release()
