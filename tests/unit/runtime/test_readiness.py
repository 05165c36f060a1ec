import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.events import LinkChanged
from bascule.core.outcome import ToolResult
from bascule.core.principal import Principal
from bascule.runtime import readiness
from bascule.runtime.readiness import AUDIT, REQUIRED, STORE, Readiness
from bascule.runtime.runtime import Runtime
from support.runtime import obeying, pids, running
from support.telling import link
from support.waiting import until


def of(runtime: Runtime) -> Readiness:
    found = runtime._observing._readiness
    assert found is not None
    return found


def fare(runtime: Runtime, event: LinkChanged) -> None:
    """Tell how a link fares."""
    runtime._recorder.record(event)


async def test_nothing_is_in_the_way_of_a_runtime_that_runs(tmp_path: Path):
    async with running(obeying(tmp_path / "log", required=True)) as runtime:
        assert runtime.unready() == ()
    assert runtime.unready() == ("not-running",)


async def test_a_lease_that_ran_out_is(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        assert runtime._raising is not None
        lease = runtime._raising.fence.lease
        kept, lease.until = lease.until, 0.0
        assert of(runtime).reasons() == (STORE,)
        lease.until = kept
        assert of(runtime).reasons() == ()


async def test_a_log_that_cannot_be_written_is(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        opened = runtime._audit._open
        assert opened is not None
        opened.writer.trouble = OSError("the disk is full")
        assert of(runtime).reasons() == (AUDIT,)
        opened.writer.trouble = None


async def test_only_a_required_server_that_nobody_reaches_is(tmp_path: Path):
    needed = obeying(tmp_path / "log", name="needed", required=True)
    async with running(needed, obeying(tmp_path / "other", name="spare")) as runtime:
        fare(runtime, link("failed", server="spare"))
        assert of(runtime).reasons() == ()
        session = runtime.session("alice", "s-1")
        assert isinstance(await session.call("needed_act"), ToolResult)
        fare(runtime, link("failed", server="needed", principal=Principal("bob", "s-1")))
        assert of(runtime).reasons() == ()


async def test_a_required_server_that_is_down_is_tried_by_the_looking_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(readiness, "TRY_EVERY", 0.0)
    needed = obeying(tmp_path / "log", required=True)
    async with running(needed) as runtime:
        fare(runtime, link("failed"))
        assert of(runtime).reasons() == (REQUIRED,)
        # Nobody calls: that it is well again is found by looking alone.
        await until(lambda: of(runtime).reasons() == ())


async def test_it_is_not_tried_more_often_than_is_good_for_it(tmp_path: Path):
    async with running(obeying(tmp_path / "log", required=True)) as runtime:
        looked = of(runtime)
        before = len(pids(tmp_path / "log"))
        fare(runtime, link("failed"))
        for _ in range(20):
            looked.reasons()
        first = looked._trying
        await until(lambda: looked.reasons() == ())
        await until(lambda: first is not None and first.done())
        fare(runtime, link("failed"))
        for _ in range(20):
            assert looked.reasons() == (REQUIRED,)
        assert looked._trying is first
        assert len(pids(tmp_path / "log")) == before + 1


async def test_a_server_that_dies_is_down_until_it_is_back(tmp_path: Path):
    dying = obeying(tmp_path / "log", required=True)
    dying = replace(dying, restart=replace(dying.restart, attempts=1, backoff=60))
    async with running(dying) as runtime:
        session = runtime.session("alice", "s-1")
        assert isinstance(await session.call("work_act"), ToolResult)
        os.kill(pids(tmp_path / "log")[-1], signal.SIGKILL)
        await until(lambda: of(runtime).reasons() == (REQUIRED,))
        await until(lambda: of(runtime).reasons() == ())
