import asyncio
from typing import Any

import pytest

from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.notifications import LONGEST_PAUSE, MOST_AWAY, MOST_REMARKS, MOST_UPDATES, Outlet
from support.virtual_time import in_virtual_time
from support.waiting import fail_after, until

TOOLS = "notifications/tools/list_changed"


class Told(list[Any]):
    """What a client was told. It reads only while it is free."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.free.set()

    async def tell(self, method: str, params: Any) -> None:
        await self.free.wait()
        self.append((method, params))


async def ended(outlet: Outlet, delivering: asyncio.Task[None]) -> None:
    outlet.close()
    async with fail_after(10, "the end of delivering"):
        await delivering


async def test_news_are_told_in_the_words_of_the_protocol():
    outlet, told = Outlet(), Told()
    outlet.changed("tools")
    outlet.updated("notes://1", "notes://1")
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    await until(lambda: len(told) == 2)
    outlet.remarked({"level": "info", "data": "x"})
    await until(lambda: len(told) == 3)
    await ended(outlet, delivering)
    assert told == [
        (TOOLS, {}),
        ("notifications/resources/updated", {"uri": "notes://1"}),
        ("notifications/message", {"level": "info", "data": "x"}),
    ]


async def test_one_who_listens_by_a_request_hears_its_id_and_only_what_was_asked_for():
    outlet, told = Outlet(kinds=("tools",), subscription=7), Told()
    outlet.changed("prompts")
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    await until(lambda: outlet.delivering)
    outlet.remarked({"level": "emergency"})
    outlet.changed("tools")
    await until(lambda: bool(told))
    await ended(outlet, delivering)
    assert told == [(TOOLS, {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}})]


async def test_what_happens_while_a_client_does_not_read_is_told_as_one():
    outlet, told = Outlet(), Told()
    told.free.clear()
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    for _ in range(100_000):
        outlet.changed("tools")
        outlet.updated("notes://1", "notes://1")
    await asyncio.sleep(0)
    told.free.set()
    await until(lambda: len(told) == 2)
    await ended(outlet, delivering)
    assert len(told) == 2


async def test_it_never_grows():
    outlet = Outlet()
    delivering = asyncio.ensure_future(outlet.deliver(Told().tell))
    await until(lambda: outlet.delivering)
    for number in range(10_000):
        outlet.updated(f"notes://dir/{number}", "notes://dir")
        outlet.remarked({"level": "info", "data": number})
    assert len(outlet._updated) == MOST_UPDATES + 1
    assert "notes://dir" in outlet._updated
    assert len(outlet._remarks) == MOST_REMARKS
    await ended(outlet, delivering)


async def test_remarks_that_were_too_many_are_told_as_a_number():
    outlet, told = Outlet(), Told()
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    await until(lambda: outlet.delivering)
    for number in range(MOST_REMARKS + 5):
        outlet.remarked({"level": "info", "data": number})
    await until(lambda: len(told) == MOST_REMARKS + 1)
    await ended(outlet, delivering)
    assert told[0][1]["data"] == "5 log messages were left out"
    assert told[-1][1]["data"] == MOST_REMARKS + 4


async def test_remarks_are_kept_for_nobody_who_is_not_there():
    outlet = Outlet()
    outlet.remarked({"level": "error"})
    assert not outlet._remarks


async def test_a_client_says_how_much_it_wants_to_hear():
    outlet, told = Outlet(), Told()
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    await until(lambda: outlet.delivering)
    outlet.remarked({"level": "debug", "data": 1})
    outlet.asked = "error"
    outlet.remarked({"level": "info", "data": 2})
    outlet.remarked({"level": "error", "data": 3})
    await until(lambda: bool(told))
    await ended(outlet, delivering)
    assert [params["data"] for _, params in told] == [3]


@pytest.mark.long
def test_who_reads_fast_is_told_of_a_flood_ever_more_rarely():
    async def minutes() -> int:
        outlet, told = Outlet(), Told()
        delivering = asyncio.ensure_future(outlet.deliver(told.tell))
        for _ in range(60_000):
            outlet.changed("tools")
            await asyncio.sleep(0.001)
        await ended(outlet, delivering)
        return len(told)

    assert in_virtual_time(minutes()) <= 60 / LONGEST_PAUSE + 10


async def test_its_end_is_told_once_and_gives_up_what_was_subscribed_to():
    outlet, over = Outlet(), list[str]()
    outlet.on_close(lambda: over.append("closed"))
    outlet.resources["notes://1"] = lambda: over.append("notes://1")
    outlet.ended()
    outlet.close()
    assert over == ["notes://1", "closed"]
    async with fail_after(5, "delivering from what is closed"):
        await outlet.deliver(Told().tell)


# Where a person has finished

FINISHED = "notifications/elicitation/complete"


async def test_that_a_person_has_finished_is_told_once_under_the_id_that_the_client_was_given():
    outlet, told = Outlet(), Told()
    mine, yours = outlet.send_away("work", "e-1"), outlet.send_away("other", "e-1")
    assert outlet.send_away("work", "e-1") == mine != yours
    assert [outlet.finished("work", "e-1"), outlet.finished("work", "e-1"), outlet.finished("work", "e-2")] == [
        True,
        False,
        False,
    ]
    delivering = asyncio.ensure_future(outlet.deliver(told.tell))
    await until(lambda: bool(told))
    await ended(outlet, delivering)
    assert told == [(FINISHED, {"elicitationId": mine})]


async def test_of_addresses_at_which_nobody_ever_finishes_the_oldest_are_forgotten():
    outlet = Outlet()
    for number in range(MOST_AWAY + 1):
        outlet.send_away("work", str(number))
    assert not outlet.finished("work", "0")
    assert all(outlet.finished("work", str(number)) for number in range(1, MOST_AWAY + 1))


# What it is asked beside its requests


async def test_a_client_can_be_asked_for_as_long_as_it_is_told():
    async def ask(method: str, _params: Any) -> str:
        return f"asked {method}"

    outlet = Outlet()
    with pytest.raises(NotAnswered):
        await outlet.ask("roots/list", {})
    delivering = asyncio.ensure_future(outlet.deliver(Told().tell, ask))
    await until(lambda: outlet.delivering)
    assert await outlet.ask("roots/list", {}) == "asked roots/list"
    await ended(outlet, delivering)
    with pytest.raises(NotAnswered):
        await outlet.ask("roots/list", {})
