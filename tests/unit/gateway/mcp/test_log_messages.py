import asyncio
from pathlib import Path
from typing import Any

import pytest

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp import log_messages
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.log_messages import MOST_WAITING, RequestEar, heard, level_of
from bascule.wire.request_meta import LOG_LEVEL_KEY
from support.runtime import at_work, obeying
from support.waiting import fail_after


class Reader:
    """A client that reads while it is free."""

    streams = True
    level = "info"

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.free = asyncio.Event()
        self.free.set()

    async def tell(self, method: str, params: JsonObject) -> None:
        assert method == "notifications/message"
        await self.free.wait()
        self.told.append(params["data"])


def test_a_client_of_the_new_era_says_with_each_request_how_much_it_wants():
    assert level_of(Asked("tools/call", {}, 1, {LOG_LEVEL_KEY: "error"})) == "error"
    assert not level_of(Asked("tools/call", {}, 1, {}))
    for level in ("loud", 5, ["info"]):
        with pytest.raises(Rejected):
            level_of(Asked("tools/call", {}, 1, {LOG_LEVEL_KEY: level}))


async def test_what_is_remarked_is_told_in_its_order_and_before_the_answer():
    client = Reader()
    ear = RequestEar(client)
    for number in range(5):
        ear.hear("work", {"data": number})
    await ear.finish()
    assert client.told == [0, 1, 2, 3, 4]


async def test_a_flood_for_a_client_that_does_not_read_is_counted_and_not_kept():
    client = Reader()
    client.free.clear()
    ear = RequestEar(client)
    for number in range(100_000):
        ear.hear("work", {"data": number})
    assert len(ear._waiting) == MOST_WAITING
    client.free.set()
    async with fail_after(10, "the rest"):
        await ear.finish()
    assert len(client.told) == MOST_WAITING + 1
    assert client.told[-1] == f"{100_000 - MOST_WAITING} log messages were left out"


async def test_also_one_that_reads_is_not_told_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_messages, "MOST", 10)
    client = Reader()
    ear = RequestEar(client)
    for number in range(20):
        ear.hear("work", {"data": number})
        await asyncio.sleep(0)
    await ear.finish()
    assert client.told == [*range(10), "10 log messages were left out"]


async def test_nobody_hears_after_the_end():
    client = Reader()
    ear = RequestEar(client)
    client.free.clear()
    ear.hear("work", {"data": 1})
    ear.close()
    ear.hear("work", {"data": 2})
    client.free.set()
    await asyncio.sleep(0)
    assert not client.told
    assert ear._client is None


async def test_it_knows_at_which_servers_its_request_is(tmp_path: Path):
    seen: list[bool] = []
    client = Reader()
    async with at_work(obeying(tmp_path / "log")) as session:
        made: list[RequestEar] = []
        original = session._roster.news.attended

        def attended(principal: Any, ear: Any) -> Any:
            made.append(ear)
            return original(principal, ear)

        session._roster.news.attended = attended  # type: ignore[method-assign]
        outcome = await heard(session, client, session.call("work_act"))
        seen = [made[0].is_at("work"), made[0].is_at("other")]
    assert outcome.ok
    assert seen == [True, False]
