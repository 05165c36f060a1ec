"""Actions of an operator that fail without an exception, and views of one runtime."""

from pathlib import Path

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.views.interface import views_of
from support.runtime import obeying
from support.watched import watched


async def test_what_cannot_be_done_says_why(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        deeds = [
            await seen.deeds.approve("work", {"act": "d"}, by="olga"),
            await seen.deeds.answer("none", agree=True, by="olga"),
            await seen.deeds.raise_session("x", DataSensitivity.SECRET, by="olga"),
        ]
        assert seen.runtime.oversight.desk.attended

    assert not any(deed.ok for deed in deeds)
    assert all(deed.told for deed in deeds)
    assert deeds[0].error is not None
    assert deeds[0].error.code == "BSC-100"


async def test_whose_answer_it_is_is_told_where_there_are_several(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        assert (await seen.views.overview()).worker == ""
        assert (await views_of(seen.runtime, seen.feed, "worker 2 of 3").overview()).worker == "worker 2 of 3"
