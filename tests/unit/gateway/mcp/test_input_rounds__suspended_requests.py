"""Suspended requests, while their clients are away with questions."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.http.body import Bulk, Room
from bascule.gateway.limits import Allowance
from bascule.gateway.mcp import input_rounds
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.input_rounds import MOST_PARKED, Parked, Parking
from support.waiting import fail_after


class Visitor:
    """The other end of a request, that takes down what it gets."""

    streams = True
    level = ""
    capabilities: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.told: list[JsonObject] = []
        self.got: list[JsonObject] = []
        self.given_up = False

    async def tell(self, method: str, params: JsonObject) -> None:
        self.told.append(params)

    async def ask(self, method: str, params: JsonObject) -> Any:
        raise AssertionError

    def send_away(self, server: str, theirs: str) -> str:
        raise AssertionError

    async def let_go(self, result: JsonObject) -> None:
        self.got.append(result)

    def give_up(self) -> None:
        self.given_up = True


def asked(token: Any = None, bulk: Bulk | None = None) -> Asked:
    meta = {} if token is None else {"progressToken": token}
    return Asked("tools/call", {"name": "work_act"}, 1, meta, new=True, bulk=bulk)


class Scene:
    """A request that began, and what its server asks."""

    def __init__(self, lot: Parking | None = None, token: Any = None, bulk: Bulk | None = None) -> None:
        self.lot = lot or Parking()
        self.client = Visitor()
        self.withheld = frozenset[str]()
        """Addresses that may not be delivered."""
        ticket, deliverable = (lambda name: f"ticket {name}"), self._deliverable
        self.parked = Parked(self.lot, asked(token, bulk), self.client, ticket, deliverable)

    def _deliverable(self, question: JsonObject) -> JsonObject:
        params = {name: value for name, value in question["params"].items() if value not in self.withheld}
        return {**question, "params": params}

    def ask(self, **params: Any) -> "asyncio.Task[Any]":
        return asyncio.ensure_future(self.parked.ask("elicitation/create", params))

    def back(self, result: JsonObject, **answers: Any) -> "asyncio.Task[Any]":
        """The client comes again with what it was given."""
        parked = self.lot.take(result["requestState"].removeprefix("ticket "))
        assert parked is not None
        assert parked is self.parked
        return asyncio.ensure_future(parked.go_on(asked(), Visitor(), answers))


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_client_goes_with_the_question_and_comes_back_for_the_result():
    scene = Scene()
    question = scene.ask(message="Who?")
    await steps()
    (wanted,) = scene.client.got
    key, put = next(iter(wanted["inputRequests"].items()))
    assert (wanted["resultType"], put) == (
        "input_required",
        {"method": "elicitation/create", "params": {"message": "Who?"}},
    )
    back = scene.back(wanted, **{key: {"action": "accept"}})
    async with fail_after(10, "the answer"):
        assert await question == {"action": "accept"}
        scene.parked.end({"content": []})
        assert await back == {"content": []}
    assert not scene.lot._inside
    assert not scene.lot._named


async def test_what_is_asked_next_is_the_answer_to_who_came_back():
    scene = Scene()
    first = scene.ask(message="Who?")
    await steps()
    back = scene.back(scene.client.got[0], **{"question-0": 1})
    assert await first == 1
    second = scene.ask(message="Why?")
    again = await back
    assert [*again["inputRequests"]] == ["question-1"]
    assert again["requestState"] != scene.client.got[0]["requestState"]
    third = scene.back(again, **{"question-1": 2})
    assert await second == 2
    scene.parked.end(Rejected(-32602, "no"))
    with pytest.raises(Rejected, match="no"):
        await third


async def test_what_is_not_answered_is_asked_again_and_what_nobody_asked_is_let_be():
    scene = Scene()
    questions = [scene.ask(n=n) for n in range(3)]
    await steps()
    assert [*scene.client.got[0]["inputRequests"]] == ["question-0"]
    again = await scene.back(scene.client.got[0], **{"question-0": 0, "question-9": 9})
    assert [*again["inputRequests"]] == ["question-1", "question-2"]
    back = scene.back(again, **{"question-1": 1, "question-2": 2})
    assert await asyncio.gather(*questions) == [0, 1, 2]
    scene.parked.end({})
    assert await back == {}


async def test_a_name_leads_back_once():
    scene = Scene()
    question = scene.ask()
    await steps()
    name = scene.client.got[0]["requestState"].removeprefix("ticket ")
    assert scene.lot.take(name) is scene.parked
    assert scene.lot.take(name) is None
    assert scene.lot.take("guessed") is None
    question.cancel()


async def test_who_comes_back_and_hangs_up_takes_the_request_back():
    scene = Scene()
    question = scene.ask()
    await steps()
    back = scene.back(scene.client.got[0], **{"question-0": 1})
    await question
    await steps()
    back.cancel()
    with pytest.raises(asyncio.CancelledError):
        await back
    assert scene.client.given_up
    scene.parked.end(None)
    await asyncio.sleep(0)
    await steps()
    assert not scene.lot._inside


async def test_what_nobody_fetches_is_dropped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(input_rounds, "UNFETCHED", 0.0)
    scene = Scene()
    question = scene.ask()
    await steps()
    question.cancel()
    scene.parked.end({})
    async with fail_after(10, "its end"):
        while scene.lot._inside or scene.lot._named:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)


async def test_an_end_while_the_client_is_away_is_kept_for_it():
    scene = Scene()
    question = scene.ask()
    await steps()
    question.cancel()
    await steps()
    scene.parked.end({"content": []})
    assert await scene.back(scene.client.got[0], **{"question-0": 1}) == {"content": []}


async def test_only_so_many_are_parked():
    lot = Parking()
    questions = [Scene(lot).ask() for _ in range(MOST_PARKED)]
    await steps()
    async with fail_after(10, "a refusal"):
        with pytest.raises(NotAnswered, match="wait for answers already"):
            await Scene(lot).ask()
    for question in questions:
        question.cancel()


async def test_progress_goes_to_who_is_there_under_their_own_token():
    scene = Scene(token="a")
    await scene.parked.tell("notifications/progress", {"progressToken": "a", "progress": 1})
    question = scene.ask()
    await steps()
    await scene.parked.tell("notifications/progress", {"progressToken": "a", "progress": 2})
    parked = scene.lot.take(scene.client.got[0]["requestState"].removeprefix("ticket "))
    assert parked is not None
    later = Visitor()
    back = asyncio.ensure_future(parked.go_on(asked("b"), later, {"question-0": 1}))
    await question
    await parked.tell("notifications/progress", {"progressToken": "a", "progress": 3})
    parked.end({})
    await back
    await parked.tell("notifications/progress", {"progressToken": "a", "progress": 4})
    assert scene.client.told == [{"progressToken": "a", "progress": 1}]
    assert later.told == [{"progressToken": "b", "progress": 3}]


async def test_one_that_was_never_asked_anything_leaves_nothing():
    scene = Scene()
    scene.parked.end({})
    assert scene.parked.streams
    assert not scene.lot._inside


async def test_a_large_one_makes_room_for_the_request_with_which_its_client_comes_back():
    room, who = Room(10, 10), Allowance()
    scene = Scene(bulk=await room.enter(10, who))
    question = scene.ask(message="Who?")
    await steps()
    async with fail_after(10, "room for the same request once more"):
        again = await room.enter(10, who)
        going_on = scene.back(scene.client.got[0], **{"question-0": "me"})
        assert await question == "me"
    scene.parked.end({"content": []})
    assert await going_on == {"content": []}
    again.release()


async def test_where_too_many_large_ones_wait_the_next_is_not_answered():
    room = Room(10, 10)
    held = await room.enter(10, Allowance())
    assert held.set_aside()
    with pytest.raises(NotAnswered, match="large"):
        await Scene(bulk=await room.enter(10, Allowance())).parked.ask("elicitation/create", {})


async def test_an_address_that_may_no_longer_be_delivered_is_declined_when_the_client_returns():
    """The level is raised while the client is away. Of two questions it gets the other one."""
    scene = Scene()
    first = scene.ask(message="Who?")
    await steps()
    visit = scene.ask(mode="url", url="https://evil.test/", message="Go.")
    form = scene.ask(message="Why?")
    await steps()
    scene.withheld = frozenset({"https://evil.test/"})
    async with fail_after(10, "the decline"):
        wanted = await scene.back(scene.client.got[0], **{"question-0": 1})
        assert await first == 1
        assert await visit == {"action": "decline"}
    assert [*wanted["inputRequests"]] == ["question-2"]
    last = scene.back(wanted, **{"question-2": 2})
    assert await form == 2
    scene.parked.end({"content": []})
    assert await last == {"content": []}


async def test_where_nothing_is_left_to_ask_the_client_waits_for_the_result():
    scene = Scene()
    scene.ask(message="Who?")
    await steps()
    visit = scene.ask(mode="url", url="https://evil.test/", message="Go.")
    await steps()
    scene.withheld = frozenset({"https://evil.test/"})
    back = scene.back(scene.client.got[0], **{"question-0": 1})
    async with fail_after(10, "the decline"):
        assert await visit == {"action": "decline"}
    assert not back.done()
    scene.parked.end({"content": []})
    assert await back == {"content": []}
