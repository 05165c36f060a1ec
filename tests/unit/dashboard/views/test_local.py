"""Views of one runtime: what is gone, and what was forgotten."""

import asyncio
from pathlib import Path

from bascule import native_server, tool
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.session_ids import session_id
from bascule.dashboard.views.local import LONG
from support.runtime import good, obeying
from support.waiting import fail_after, until
from support.watched import watched


async def test_what_is_not_there_is_none(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        views = seen.views
        assert await views.session("bm9ib2R5") is None
        assert await views.what_if("x", DataSensitivity.SECRET) is None
        assert await views.call("7") is None
        assert (await views.timeline(session_id="x")).calls == ()


async def test_pages_of_a_timeline_follow_each_other(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        session = seen.runtime.session("alice", "s-1")
        for _ in range(5):
            good(await session.call("work_act", {}))
        newest = await seen.views.timeline(most=2, session_id=session_id(session.principal))
        older = await seen.views.timeline(most=2, before=newest.calls[-1].place)

    assert (newest.more, older.more) == (3, 1)
    assert [call.id.partition("-")[2] for call in (*newest.calls, *older.calls)] == ["8", "7", "6", "5"]


async def test_a_forgotten_agent_session_is_shown_from_the_store(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        session = seen.runtime.session("alice", "s-1")
        good(await session.call("work_act", {}))
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        await session.close()
        await until(lambda: seen.runtime.forget(session.principal))
        (row,) = await seen.views.sessions()
        detail = await seen.views.session(row.id)

    assert (row.level, row.known, row.calls) == ("secret", True, 1)
    assert detail is not None
    assert [receipt.after for receipt in detail.receipts] == ["secret"]


async def test_a_call_that_takes_long_is_shown_before_it_has_ended_and_told_of():
    done = asyncio.Event()

    @tool("read")
    async def wait() -> str:
        """Wait."""
        await done.wait()
        return "over"

    async with watched(native_server("work", [wait])) as seen, fail_after(20):
        session = seen.runtime.session("alice", "s-1")
        await session.tools()
        told = seen.views.news()
        await anext(told)
        call = asyncio.ensure_future(session.call("work_wait", {}))
        while "underway" not in (await anext(told)).topics:
            pass
        (row,) = (await seen.views.timeline(session_id=session_id(session.principal))).under_way
        assert (await seen.views.timeline(session_id=session_id(Principal("bob", "s-1")))).under_way == ()
        done.set()
        good(await call)
        after = await seen.views.timeline()

    assert (row.name, row.server, row.step, row.steps[-1].name) == ("work_wait", "work", "send", "send")
    assert row.seconds >= LONG
    assert (after.under_way, [each.name for each in after.calls]) == ((), ["work_wait"])
