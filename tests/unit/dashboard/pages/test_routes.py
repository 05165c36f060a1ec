"""Which calls are on a page."""

import pytest

from bascule.dashboard.pages.routes import side_by_side
from bascule.dashboard.pages.waterfall import WIDTH
from support.dashboards import many_calls, office, shown


async def test_the_longest_call_of_a_page_has_the_longest_bar():
    async with shown(*office()) as found:
        many_calls(found.feed, 20)
        from bascule.dashboard.views.interface import views_of

        calls = (await views_of(found.runtime, found.feed).timeline()).calls
    drawn = side_by_side(calls)
    longest = max(drawn, key=lambda each: each.call.seconds)
    assert sum(bar.width for bar in longest.bars) == pytest.approx(WIDTH, rel=0.01)
    assert side_by_side(()) == ()
