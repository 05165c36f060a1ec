"""What was called is recorded as it was, in order, and once."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from bascule import Runtime
from bascule.core.principal import Principal
from bascule.testing.calls import Call, Calls
from support.runtime import obeying, running

ALICE = Principal("alice", "s-1")


@pytest.fixture
async def runtime(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Runtime]:
    async with running(obeying(tmp_path_factory.mktemp("log") / "log")) as made:
        yield made


async def test_a_call_is_recorded_with_its_arguments_and_its_outcome(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)

    outcome = await session.call("work_act", {"text": "a"})

    assert list(calls) == [Call("work_act", {"text": "a"}, ALICE, outcome)]
    assert calls.one("work_act") is calls[0]


async def test_a_call_that_is_refused_is_recorded_too(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)

    outcome = await session.call("nothing_there")

    assert calls.one("nothing_there").outcome is outcome
    assert not outcome.ok


async def test_what_the_caller_does_to_the_arguments_later_is_not_recorded(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)
    given = {"list": [1]}

    calling = session.call("work_act", given)
    given["list"].append(2)
    await calling

    assert calls[0].arguments == {"list": [1]}


async def test_watching_twice_records_once(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)
    calls.watch(session)

    await session.call("work_act")

    assert calls.tools == ["work_act"]


async def test_the_order_is_that_in_which_calls_are_made_and_a_call_under_way_has_no_outcome(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)

    first, second = session.call("work_act", {"n": 1}), session.call("work_act", {"n": 2})
    assert [call.outcome for call in calls] == [None, None]
    await second
    assert calls[0].outcome is None
    await first

    assert [call.arguments for call in calls.of("work_act")] == [{"n": 1}, {"n": 2}]


async def test_a_call_whose_caller_stops_waiting_stays_without_an_outcome(runtime: Runtime):
    calls = Calls()
    session = runtime.session("alice", "s-1")
    calls.watch(session)

    calling = asyncio.create_task(session.call("work_act", {"hang": True}))
    await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait([calling])

    assert calls.one("work_act").outcome is None


@pytest.mark.parametrize("count", [0, 2])
def test_one_fails_with_what_was_called_where_there_is_not_one(count: int):
    calls = Calls()
    calls._made.extend([Call("other", {}, ALICE), *[Call("act", {}, ALICE)] * count])

    with pytest.raises(AssertionError, match=f"act was called {count} times, not once; called was: other"):
        calls.one("act")


def test_cleared_it_is_empty():
    calls = Calls()
    calls._made.append(Call("act", {}, ALICE))
    assert calls[:1] == [calls[0]]
    assert "act" in repr(calls)

    calls.clear()

    assert len(calls) == 0
