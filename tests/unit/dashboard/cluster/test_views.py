"""Views and actions over all workers of a cluster."""

import asyncio

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.cluster.views import Heard, there
from bascule.dashboard.views.shapes import News
from support.dashboards import office
from support.runtime import good
from support.waiting import fail_after, until
from support.watched import session_id
from support.workers_shown import Pair, pair


async def used(found: Pair) -> None:
    for runtime, user in ((found.one.runtime, "alice"), (found.two.runtime, "bob")):
        session = runtime.session(user, "s-1")
        await session.tools()
        good(await session.call("notes_search", {"words": "a"}))
    await found.two.runtime.session("bob", "s-1").call("web_fetch", {"url": "https://broken.example"})


async def test_each_page_has_what_both_have_served():
    async with fail_after(60), pair(*office()) as found:
        await used(found)
        bob = session_id(found.two.runtime.session("bob", "s-1").principal)
        overview, views = await found.views.overview(), found.views
        assert (overview.calls, overview.failures, overview.sessions, overview.shows) == (3, 1, 2, "")
        assert [row.user for row in await views.sessions()] == ["bob", "alice"]
        timeline = await views.timeline(most=2)
        assert [(call.user, call.name) for call in timeline.calls] == [("bob", "web_fetch"), ("bob", "notes_search")]
        assert timeline.more == 1
        (older,) = (await views.timeline(before=timeline.calls[-1].place, most=2)).calls
        assert older.user == "alice"
        for call in (older, *timeline.calls):
            assert (detail := await views.call(call.id)) is not None
            assert detail.call == call
        assert (detail := await views.session(bob)) is not None
        assert (detail.row.calls, detail.here) == (2, True)
        assert (what_if := await views.what_if(bob, DataSensitivity.SECRET)) is not None
        assert what_if.then == "secret"
        searched = next(row for row in await views.tools() if row.name == "notes_search")
        assert (searched.calls, sum(searched.buckets.values())) == (2, 2)
        assert [call.user for call in (await views.search("tool:notes_search")).calls] == ["bob", "alice"]
        assert (server := await views.server("notes")) is not None
        own, theirs = await found.one.views.server("notes"), await found.two.views.server("notes")
        assert own is not None
        assert theirs is not None
        assert server.links == own.links + theirs.links
        assert await views.drift() == ()
        assert (await views.session("x"), await views.call("x-1"), await views.server("x")) == (None, None, None)


async def test_what_happens_at_the_other_one_is_news():
    async with fail_after(60), pair(*office()) as found:
        told = found.views.news()
        await anext(told)
        good(await found.two.runtime.session("bob", "s-1").call("notes_search", {"words": "a"}))
        while "calls" not in (await anext(told)).topics:
            pass
        found.wire.silent.add("two")
        while not (await anext(told)).reload:
            pass
        await told.aclose()


async def test_whoever_does_not_answer_is_named_and_not_waited_for_again():
    async with fail_after(60), pair(*office()) as found:
        await used(found)
        await found.views.overview()
        found.wire.silent.add("two")
        overview = await found.views.overview()
        assert overview.shows == "Worker 2 does not answer: what is served there is not shown."
        asked = found.wire.asked
        assert [call.user for call in (await found.views.timeline()).calls] == ["alice"]
        assert found.wire.asked == asked
        del found.wire.answers["two"]
        assert "Ended a moment ago: worker 2" in (await found.views.overview()).shows


async def test_news_of_several_are_told_once():
    heard = Heard()
    heard.hear(News("f.1", False, (), ()))
    heard.tell("calls")
    heard.tell("calls", "asks", reload=True)
    assert heard.take() == News("f.1", True, ("calls", "asks"), ())
    assert not heard.woken.is_set()
    heard.tell()
    assert not heard.woken.is_set()
    await asyncio.sleep(0)


def test_who_has_nothing_to_tell_is_left_out():
    assert there([None, 1, None, 2]) == [1, 2]


async def test_a_call_that_waits_at_another_worker_is_answered_here():
    async with fail_after(60), pair(*office()) as found:
        bob = found.two.runtime.session("bob", "s-1")
        call = asyncio.ensure_future(bob.call("mail_send", {"to": "ann", "text": "hi"}))
        await until(lambda: len(found.two.runtime.oversight.desk.waiting()) == 1)
        (waiting,) = await found.views.asks()
        deed = await found.deeds.answer(waiting.id, agree=True, by="olga")
        assert deed.ok, deed
        assert good(await call).text == "sent 2 to ann"
        again = await found.deeds.answer(waiting.id, agree=True, by="olga")
        assert (again.ok, "any more" in again.told) == (False, True)


async def test_an_agent_session_of_another_worker_is_raised_here():
    async with fail_after(60), pair(*office()) as found:
        bob = found.two.runtime.session("bob", "s-1")
        await bob.begin()
        deed = await found.deeds.raise_session(session_id(bob.principal), DataSensitivity.SECRET, by="olga")
        assert deed.ok, deed
        assert bob.sensitivity is DataSensitivity.SECRET


async def test_what_nobody_can_do_is_told_by_the_one_who_was_asked():
    async with fail_after(60), pair(*office()) as found:
        assert not (await found.deeds.approve("notes", {"search": "x"}, by="olga")).ok
        found.wire.silent.add("two")
        assert not (await found.deeds.answer("none", agree=True, by="olga")).ok
