"""One runtime's views, and what they say where that is not all there is."""

from pathlib import Path

from bascule.dashboard.views.interface import views_of
from support.runtime import obeying
from support.watched import watched


async def test_whose_answer_it_is_is_told_where_there_are_several(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        assert (await seen.views.overview()).worker == ""
        assert (await views_of(seen.runtime, seen.feed, "worker 2 of 3").overview()).worker == "worker 2 of 3"
