"""Long results of servers that are limited."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.core.errors import NoRoom, WorkspaceError
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.core.undo.transaction import Ending
from bascule.result_limits.limiter import META
from bascule.runtime.result_limits import limited_outcome
from bascule.runtime.session import AgentSession
from bascule.workspace import Workspace
from support.runtime import Events, a_tool, at_work, bad, good, obeying, text
from support.waiting import fail_after

PRESET = Preset(characters=1000)
LONG = "word " * 1000
PICTURE = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
ROWS = [{"id": n} for n in range(500)]


def files(session: AgentSession) -> dict[str, bytes]:
    workspace = session.workspace
    if not workspace.exists("results"):
        return {}
    return {
        f"/workspace/results/{e.name}": workspace.read_bytes(f"results/{e.name}") for e in workspace.list("results")
    }


@pytest.mark.parametrize("outcome", [ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", LONG)])
async def test_a_failure_is_never_cut(log: Path, outcome: ToolFailure):
    async with at_work(obeying(log)) as session:
        assert await limited_outcome(session._standing, outcome, PRESET) is outcome


async def test_a_short_result_is_the_same_object(log: Path):
    async with at_work(obeying(log)) as session:
        for raw in (text("short"), {"content": [PICTURE]}, {"content": [], "structuredContent": {"a": 1}}):
            result = ToolResult(raw, "a", "b", Lane.OPEN, {})
            assert await limited_outcome(session._standing, result, PRESET) is result


async def test_all_that_a_door_can_show_is_the_preview(log: Path, events: Events):
    content = [
        PICTURE,
        {"type": "text", "text": LONG, "annotations": {"audience": ["user"]}},
        {"type": "text", "text": "x"},
    ]
    reply = {"content": content, "structuredContent": {"rows": ROWS}, "_meta": {"mine": 1}}
    async with at_work(obeying(log, limit=PRESET), events=events) as session:
        result = good(await session.call("work_act", {"result": reply}))
        saved = files(session)
    assert len(result.text) <= 1000 + len("[image image/png, 3750 bytes]\n")
    assert result.structured is None
    assert result.raw["content"][0] == PICTURE
    assert [block.type for block in result.content] == ["image", "text"]
    assert result.raw["content"][1]["annotations"] == {"audience": ["user"]}
    assert LONG not in str(result.raw)
    assert result.raw["_meta"]["mine"] == 1
    assert {each["path"] for each in result.raw["_meta"][META]} == set(saved)
    assert min(saved.values(), key=len) == (LONG + "\nx").encode()
    assert events.call.outcome is result
    assert events.call.local is Ending.KEPT


async def test_the_promise_is_held_against_the_whole_and_not_made_to_agents(log: Path):
    schema = {"type": "object", "properties": {"rows": {"type": "array", "minItems": 400}}, "required": ["rows"]}
    tool = a_tool("act", outputSchema=schema)
    async with at_work(obeying(log, tool, limit=PRESET)) as session:
        (spec,) = await session.tools()
        assert spec.output_schema is None
        found = await session.find("work_act")
        assert found is not None
        assert found.output_schema is None
        result = good(await session.call("work_act", {"result": {"content": [], "structuredContent": {"rows": ROWS}}}))
        assert "500 rows" in result.text or "1 key" in result.text
        few = {"content": [], "structuredContent": {"rows": ROWS[:300]}}
        bad(await session.call("work_act", {"result": few}), FailureKind.PROTOCOL_ERROR)
    async with at_work(obeying(log, tool)) as session:
        assert (await session.tools())[0].output_schema == schema


async def test_others_are_left_alone(log: Path):
    async with at_work(obeying(log), obeying(log, name="limited", limit=PRESET)) as session:
        assert good(await session.call("work_act", {"result": text(LONG)})).text == LONG
        assert len(good(await session.call("limited_act", {"result": text(LONG)})).text) <= 1000
        assert len(files(session)) == 1


async def test_what_cannot_be_saved_is_previewed_all_the_same(log: Path):
    async with at_work(obeying(log, limit=PRESET), workspace_quota=4096) as session:
        result = good(await session.call("work_act", {"result": text(LONG)}))
        assert len(result.text) <= 1000
        assert "could not be saved, and what is not shown here is lost: no room" in result.text
        assert not files(session)


async def test_without_a_workspace_nothing_is_saved(log: Path):
    async with at_work(obeying(log)) as session:
        session._standing.workspace = None
        result = ToolResult(text(LONG), "a", "b", Lane.OPEN, {})
        assert "there is no workspace" in (await limited_outcome(session._standing, result, PRESET)).text


class Slow(Workspace):
    """One that writes when it is let."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.begun, self.let = threading.Event(), threading.Event()

    def write_bytes(self, path: Any, data: Any) -> None:
        self.begun.set()
        assert self.let.wait(10)
        super().write_bytes(path, data)


async def test_a_caller_who_stops_waiting_leaves_no_file_behind(log: Path, tmp_path: Path, events: Events):
    with Slow(tmp_path / "slow") as workspace:
        async with at_work(obeying(log, limit=PRESET), events=events) as session:
            session._standing.workspace = lambda: workspace  # pyright: ignore[reportAttributeAccessIssue]
            call = asyncio.create_task(session.call("work_act", {"result": text(LONG)}))
            async with fail_after(10):
                assert await asyncio.to_thread(workspace.begun.wait, 10)
                call.cancel()
                await asyncio.sleep(0)
                assert not call.done()
                workspace.let.set()
                with pytest.raises(asyncio.CancelledError):
                    await call
        assert not workspace.exists("results")
    assert events.call.local is Ending.WAITING


class Refusing(Workspace):
    def write_bytes(self, path: Any, data: Any) -> None:
        raise NoRoom("the disk is full") if len(data) % 2 else WorkspaceError("it may not be touched")


@pytest.mark.parametrize(("more", "told"), [("", "may not be touched"), ("x", "the disk is full")])
async def test_why_it_could_not_be_saved_is_told(log: Path, tmp_path: Path, more: str, told: str):
    with Refusing(tmp_path / "refusing") as workspace:
        async with at_work(obeying(log, limit=PRESET)) as session:
            session._standing.workspace = lambda: workspace  # pyright: ignore[reportAttributeAccessIssue]
            assert told in good(await session.call("work_act", {"result": text(LONG + more)})).text


async def test_a_limit_can_be_changed_while_the_server_runs(log: Path, tmp_path: Path):
    async with at_work(obeying(log)) as session:
        await session.call("work_act", {"result": text("x")})
        servers = session._standing.roster.servers
        changed = replace(servers["work"], limit=PRESET)
        session._standing.roster.servers = {"work": changed}
        assert len(good(await session.call("work_act", {"result": text(LONG)})).text) <= 1000
