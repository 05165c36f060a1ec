"""Views of one runtime: what is gone, and what was forgotten."""

from pathlib import Path

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.session_ids import session_id
from support.runtime import good, obeying
from support.waiting import until
from support.watched import watched


async def test_what_is_not_there_is_none(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        views = seen.views
        assert await views.session("bm9ib2R5") is None
        assert await views.what_if("x", DataSensitivity.SECRET) is None
        assert await views.call(7) is None
        assert (await views.timeline(session_id="x")).calls == ()


async def test_pages_of_a_timeline_follow_each_other(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        session = seen.runtime.session("alice", "s-1")
        for _ in range(5):
            good(await session.call("work_act", {}))
        newest = await seen.views.timeline(most=2, session_id=session_id(session.principal))
        older = await seen.views.timeline(most=2, before=newest.calls[-1].seq)
        later = await seen.views.timeline(after=newest.calls[-1].seq)

    assert (newest.more, older.more) == (3, 1)
    assert older.calls[0].seq < newest.calls[-1].seq
    assert later.calls == newest.calls[:1]


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
