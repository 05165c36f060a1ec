"""One run of `bascule up`, from its start to its end."""

import asyncio
import os
import pty
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bascule.cli.serve.up import Happenings, Sign, Watch
from bascule.cli.views.up import Told
from bascule.cli.views.up_rows import Row
from bascule.core.events import ConfigApplied, ConfigRejected
from bascule.runtime.runtime import Runtime
from support.command import BASCULE, bascule, configured, entry, environment
from support.processes import ended
from support.servers import pids
from support.up import up
from support.waiting import fail_after


class Seen:
    """A view that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.states: dict[str, list[str]] = {}
        self.last: dict[str, Row] = {}
        self.told: list[Told] = []
        self._changed = asyncio.Event()

    def rows(self, rows: Sequence[Row]) -> None:
        self.last = {row.name: row for row in rows}
        for row in rows:
            states = self.states.setdefault(row.name, [])
            if states[-1:] != [row.state]:
                states.append(row.state)
        self._changed.set()

    def tell(self, event: Told) -> None:
        self.told.append(event)

    def stopping(self) -> None: ...
    def stopped(self) -> None: ...

    async def until(self, name: str, state: str) -> Row:
        async with fail_after(20, f"{name} being {state}"):
            while name not in self.last or self.last[name].state != state:
                self._changed.clear()
                await self._changed.wait()
        return self.last[name]


class Run:
    """A watch in a task of its own, on a config that can be edited."""

    def __init__(self, runtime: Runtime, happenings: Happenings) -> None:
        self.runtime = runtime
        self.happenings = happenings
        self.view = Seen()
        session = runtime.session("ada", "s-1")
        self.task = asyncio.create_task(Watch(session, happenings, self.view).run())

    async def stop(self) -> int:
        self.happenings.put_nowait(Sign.STOP)
        return await self.task


@asynccontextmanager
async def watching(config: str) -> AsyncGenerator[Run]:
    happenings: Happenings = asyncio.Queue()
    made = Runtime.from_file(config, sinks=[happenings.put_nowait])
    async with fail_after(30), made as runtime:
        run = Run(runtime, happenings)
        try:
            yield run
        finally:
            run.task.cancel()
            await asyncio.wait((run.task,))


async def test_every_server_is_linked_to_and_shown_with_its_tools(tmp_path: Path):
    config = configured(tmp_path, echo=entry("echo"), bad=entry("failing", 3, "no key"))
    async with watching(config) as run:
        row = await run.view.until("echo", "ready")
        assert (row.tools, row.era, row.restarts, row.error) == (1, "2026-07-28", 0, None)
        assert (await run.view.until("bad", "failed")).reason == "the server exited with code 3"
        assert await run.stop() == 0

    assert run.view.states["echo"] == ["configured", "connecting", "ready"]


async def test_other_principals_are_not_shown(tmp_path: Path):
    async with watching(configured(tmp_path, echo=entry("echo"))) as run:
        await run.view.until("echo", "ready")
        other = run.runtime.session("bob", "s-2")
        await other.tools()
        await other.close()
        assert await run.stop() == 0

    assert run.view.states["echo"] == ["configured", "connecting", "ready"]


async def test_an_edit_is_told_and_what_it_brings_is_linked_to(tmp_path: Path):
    async with watching(configured(tmp_path, echo=entry("echo"))) as run:
        await run.view.until("echo", "ready")
        configured(tmp_path, echo=entry("echo", env={"A": "b"}), new=entry("echo"))
        await run.runtime.reload()
        await run.view.until("new", "ready")
        assert (await run.view.until("echo", "ready")).restarts == 1
        (tmp_path / "bascule.yaml").write_text("nonsense")
        with pytest.raises(Exception, match="mapping"):
            await run.runtime.reload()
        assert await run.stop() == 0

    kinds = [type(event) for event in run.view.told if isinstance(event, ConfigApplied | ConfigRejected)]
    assert kinds == [ConfigApplied, ConfigRejected]


async def test_a_server_that_comes_back_is_shown_with_its_tools(tmp_path: Path):
    log = tmp_path / "log"
    async with watching(configured(tmp_path, work=entry("obeying", log))) as run:
        await run.view.until("work", "ready")
        os.kill(pids(log)[0], signal.SIGKILL)
        assert "signal 9" in (await run.view.until("work", "failed")).reason
        await run.runtime.session("ada", "s-1").call("work_act", {})
        row = await run.view.until("work", "ready")
        assert (row.tools, row.restarts) == (1, 1)
        assert await run.stop() == 0


async def test_a_server_that_failed_at_the_start_is_tried_again(tmp_path: Path):
    log = tmp_path / "log"
    log.mkdir()  # where it would write: it cannot start
    work = entry("obeying", log, restart={"backoff": 0.2, "attempts": 8})
    async with watching(configured(tmp_path, work=work)) as run:
        await run.view.until("work", "failed")
        log.rmdir()
        assert (await run.view.until("work", "ready")).tools == 1
        assert await run.stop() == 0


async def test_a_server_that_everyone_shares_is_shown(tmp_path: Path):
    shared = entry("echo", lifetime="shared", stateless=True)
    async with watching(configured(tmp_path, echo=shared)) as run:
        assert (await run.view.until("echo", "ready")).tools == 1
        assert await run.stop() == 0

    assert run.view.states["echo"] == ["configured", "connecting", "ready"]


async def test_a_required_server_that_fails_at_the_start_ends_it(tmp_path: Path):
    config = configured(tmp_path, echo=entry("echo"), bad=entry("failing", 3, "no key", required=True))
    ran = await bascule(tmp_path, "up", "--config", config)

    assert ran.code == 3
    assert "no key" in ran.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals):
    log = tmp_path / "log"
    configured(tmp_path, work=entry("obeying", log))
    async with up(tmp_path) as running:
        await running.until_ready("work")
        assert await running.stop(number) == 0

    assert [told["event"] for told in running.told[-2:]] == ["stopping", "stopped"]
    await ended(pids(log)[0])


async def test_a_second_signal_ends_it_at_once(tmp_path: Path):
    """Its server hears nothing, and would be given a minute."""
    log = tmp_path / "log"
    server = {**entry("obeying", log), "timeouts": {"close": 60}}
    configured(tmp_path, work=server)
    async with up(tmp_path) as running:
        await running.until_ready("work")
        os.kill(pids(log)[0], signal.SIGSTOP)
        running.process.send_signal(signal.SIGINT)
        await running.until(lambda told: told["event"] == "stopping")
        running.process.send_signal(signal.SIGINT)
        async with fail_after(15, "the end"):
            _, err = await running.process.communicate()
            await ended(pids(log)[0])

    assert (running.process.returncode, err) == (130, b"aborted\n")


async def test_a_reader_that_has_seen_enough_ends_it(tmp_path: Path):
    configured(tmp_path, work=entry("obeying", tmp_path / "log"))
    async with up(tmp_path) as running:
        await running.until_ready("work")
        assert running.process.stdout is not None
        running.process.stdout._transport.close()  # type: ignore[attr-defined]
        configured(tmp_path, other=entry("echo"))
        async with fail_after(30, "the end"):
            assert await running.process.wait() == 1


@pytest.mark.long
async def test_at_a_terminal_there_is_one_row_that_stays_in_its_place(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    ours, theirs = pty.openpty()
    reader = asyncio.StreamReader()
    environ = {**environment(tmp_path), "COLUMNS": "120", "TERM": "xterm"}
    process = await asyncio.create_subprocess_exec(
        BASCULE, "up", "--user", "ada", "--session", "s-1", cwd=tmp_path, env=environ, stdout=theirs
    )
    os.close(theirs)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb"))
    seen = b""
    try:
        async with fail_after(30, "the table"):
            while b"ready" not in seen:
                seen += await reader.read(4096)
            process.send_signal(signal.SIGINT)
            while b"stopped" not in seen:
                seen += await reader.read(4096)
            assert await process.wait() == 0
    finally:
        transport.close()
        if process.returncode is None:
            process.kill()
            await process.wait()

    assert b"restarts" in seen
    assert b"\x1b[1A" in seen  # the cursor goes up, to draw the row where it was
