"""One runtime's views, and what they say where that is not all there is."""

from pathlib import Path

from bascule.dashboard.views import views_of
from support.runtime import obeying
from support.watched import watched


async def test_whoever_sees_only_a_part_is_told(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        assert (await seen.views.overview()).shows == ""
        assert (await views_of(seen.runtime, seen.feed, "worker 2 of 3").overview()).shows == "worker 2 of 3"
