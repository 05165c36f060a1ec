"""Errors that a program meets: one that uses a runtime, a workspace or a bridge."""

import asyncio
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bascule import RunStopped
from bascule.bridges.plain import MCPToolGateway
from bascule.config import Limits, Timeouts
from bascule.core.errors import NoRoom, PathRefused, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.workspace import Workspace
from behaviour.codes.table import raises
from support.runtime import Arrived, Events, a_tool, at_work, good, obeying, running, text, twinned
from support.shown import failed, raised

ADA = Principal("ada", "s-1")
SILENT = {"progress": [1], "silent": True}
LABELLED = {**text("the salaries"), "_meta": {"dev.bascule/labels": ["confidential"]}}
FATAL = {
    "content": [{"type": "text", "text": "the accounts of 2020 are closed"}],
    "isError": True,
    "_meta": {"dev.bascule/fatal": True},
}


@raises("BSC-000")
async def a_call_gets_what_its_types_forbid(folder: Path) -> str:
    events = Events()
    async with at_work(obeying(folder / "log"), events=events) as session:
        with pytest.raises(TypeError):
            await session.call("work_act", timeout="soon")  # pyright: ignore[reportArgumentType] -- that is the mistake
    return failed(events.call.outcome)


@raises("BSC-301")
async def one_call_too_many_is_made(folder: Path) -> str:
    async with at_work(obeying(folder / "log", limits=Limits(per_minute=1))) as session:
        good(await session.call("work_act"))
        return failed(await session.call("work_act"))


@raises("BSC-302")
async def a_twin_is_of_another_version(folder: Path) -> str:
    server = obeying(folder / "open", a_tool("act"), a_tool("look"))
    async with at_work(twinned(server, obeying(folder / "twin", a_tool("act")))) as session:
        good(await session.call("work_act"))
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        return failed(await session.call("work_act"))


@raises("BSC-303")
async def how_private_a_result_is_cannot_be_kept(folder: Path) -> str:
    async with at_work(obeying(folder / "log", trust=frozenset({"labels"}))) as session:
        await session.connect()
        journal = Path(os.environ["BASCULE_HOME"], "bascule.db-raises")
        journal.rename(journal.with_name("away"))
        journal.mkdir()
        try:
            return failed(await session.call("work_act", {"result": LABELLED}))
        finally:
            journal.rmdir()
            journal.with_name("away").rename(journal)


@raises("BSC-304")
async def the_disk_of_the_audit_log_is_full(folder: Path) -> str:
    async with at_work(obeying(folder / "log")) as session:
        for _ in range(400):
            good(await session.call("work_act"))
        # A limit on the size of files is a full disk of this one process. The log is by now the largest there is.
        with largest_file(audit_log().stat().st_size):
            return failed(await session.call("work_act"))


def audit_log() -> Path:
    return max(Path(os.environ["BASCULE_HOME"], "audit").iterdir(), key=lambda path: path.stat().st_size)


@contextmanager
def largest_file(size: int) -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@raises("BSC-408")
async def private_data_comes_while_a_call_is_under_way(folder: Path) -> str:
    async with at_work(obeying(folder / "log")) as session:
        arrived = Arrived()
        call = asyncio.create_task(session.call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        return failed(await call)


@raises("BSC-500")
async def every_link_is_taken(folder: Path) -> str:
    limits = Timeouts(connect=15, reconnect=0.5, probe=10, close=0.5)
    async with running(obeying(folder / "log", timeouts=limits), links_max=1) as runtime:
        arrived = Arrived()
        busy = asyncio.create_task(runtime.session("ada", "s").call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        try:
            return failed(await runtime.session("bob", "s").call("work_act"))
        finally:
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)


@raises("BSC-610")
async def a_file_is_not_there(folder: Path) -> str:
    with Workspace.of(ADA, folder) as workspace, pytest.raises(WorkspaceError) as caught:
        workspace.read_text("plan.txt")
    return raised(caught.value)


@raises("BSC-611")
async def a_path_leads_out(folder: Path) -> str:
    with Workspace.of(ADA, folder) as workspace, pytest.raises(PathRefused) as caught:
        workspace.read_text("../../etc/passwd")
    return raised(caught.value)


@raises("BSC-612")
async def the_quota_is_used_up(folder: Path) -> str:
    with Workspace.of(ADA, folder, quota=8192) as workspace, pytest.raises(NoRoom) as caught:
        workspace.write_text("big.txt", "x" * 20_000)
    return raised(caught.value)


@raises("BSC-700")
async def a_tool_ends_the_run(folder: Path) -> str:
    def run() -> str:
        server = obeying(folder / "log", trust=frozenset({"fatal"}))
        with MCPToolGateway([server]) as tools, pytest.raises(RunStopped) as caught:
            tools.call("work_act", {"result": FATAL})
        return raised(caught.value)

    return await asyncio.to_thread(run)


@raises("BSC-703")
async def nobody_waits_any_more(folder: Path) -> str:
    events = Events()
    async with at_work(obeying(folder / "log"), events=events) as session:
        arrived = Arrived()
        call = asyncio.create_task(session.call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    return failed(events.call.outcome)
