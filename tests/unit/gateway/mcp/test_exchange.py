"""How an answer is sent, piece by piece. Whole exchanges are in test_app.py."""

import asyncio
import json
from typing import Any

import pytest

from bascule.core.principal import Principal
from bascule.gateway.http.body import Room
from bascule.gateway.http.disconnect import Attention
from bascule.gateway.http.sse import COMMENT
from bascule.gateway.limits import Allowance
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.exchange import Exchange, respond
from bascule.gateway.mcp.sessions import OldSession
from bascule.wire.jsonrpc import Message
from bascule.wire.request_meta import CAPABILITIES_KEY
from support.virtual_time import in_virtual_time
from support.waiting import fail_after


async def test_an_answer_tells_its_length_and_its_kind():
    said: list[Any] = []

    async def send(event: dict[str, Any]) -> None:
        said.append(event)

    await respond(send, 418, json.dumps({"a": 1}).encode(), [(b"x", b"y")])
    await respond(send, 202)
    start, body, bare, nothing = said
    assert (start["status"], dict(start["headers"])) == (
        418,
        {b"content-type": b"application/json", b"content-length": b"8", b"x": b"y"},
    )
    assert body["body"] == b'{"a": 1}'
    assert (bare["status"], dict(bare["headers"])) == (202, {b"content-length": b"0"})
    assert nothing["body"] == b""


OFFERED = {"elicitation": {}}


class Wire:
    """What leaves for a client."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def __call__(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    @property
    def messages(self) -> list[Any]:
        bodies = [event["body"] for event in self.events if event.get("body")]
        return [json.loads(body.partition(b"data: ")[2]) for body in bodies]


def session() -> OldSession:
    return OldSession(Principal("alice", "s-1"), 0.0, 0.0, OFFERED)


def old(wire: Wire, session: OldSession | None, *, streams: bool = True) -> Exchange:
    return Exchange(wire, Asked("tools/call", {}, 1), streams=streams, session=session)


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_a_client_offers_is_what_its_era_says_where():
    meta = {CAPABILITIES_KEY: OFFERED}
    assert Exchange(Wire(), Asked("tools/call", {}, 1, meta, new=True), streams=False).capabilities == OFFERED
    assert old(Wire(), session()).capabilities == OFFERED
    # Without a stream, or without a session in which to answer, it cannot be asked.
    assert old(Wire(), session(), streams=False).capabilities == {}
    assert old(Wire(), None).capabilities == {}
    assert (
        Exchange(Wire(), Asked("tools/call", {}, 1, {CAPABILITIES_KEY: 5}, new=True), streams=True).capabilities == {}
    )


async def test_a_question_is_a_request_on_the_stream_and_waits_for_its_answer():
    wire, begun = Wire(), session()
    asking = asyncio.ensure_future(old(wire, begun).ask("roots/list", {}))
    await steps()
    assert dict(wire.events[0]["headers"])[b"content-type"] == b"text/event-stream"
    (question,) = wire.messages
    assert (question["method"], [*begun.asked]) == ("roots/list", [question["id"]])
    begun.asked[question["id"]].set_result(Message(id=question["id"], result={"roots": []}))
    assert await asking == {"roots": []}
    assert begun.asked == {}


async def test_an_error_is_no_answer():
    wire, begun = Wire(), session()
    asking = asyncio.ensure_future(old(wire, begun).ask("roots/list", {}))
    await steps()
    begun.asked[wire.messages[0]["id"]].set_result(Message(id="x", error={"code": -1, "message": "no"}))
    with pytest.raises(NotAnswered, match="no"):
        await asking


async def test_a_question_that_is_taken_back_is_told_so():
    wire, begun = Wire(), session()
    asking = asyncio.ensure_future(old(wire, begun).ask("roots/list", {}))
    await steps()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    question, told = wire.messages
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    assert begun.asked == {}


@pytest.mark.parametrize("given", [{"session": None}, {"session": session(), "streams": False}])
async def test_who_cannot_be_reached_is_not_asked(given: dict[str, Any]):
    wire = Wire()
    with pytest.raises(NotAnswered, match="cannot be reached"):
        await old(wire, **given).ask("roots/list", {})
    assert wire.events == []


async def test_a_client_that_is_let_go_hears_no_more():
    class Serving:
        async def serve(self, _asked: Asked, client: Exchange) -> Any:
            await client.let_go({"resultType": "input_required"})
            await client.tell("notifications/progress", {})
            with pytest.raises(NotAnswered):
                await client.ask("roots/list", {})
            return {"content": []}

    async def receive() -> dict[str, Any]:
        raise AssertionError

    wire: Wire = Wire()
    desk: Any = Serving()
    exchange = Exchange(wire, Asked("tools/call", {}, 1, new=True), streams=True)
    await exchange.serve(desk, Attention(receive))
    start, body = wire.events
    assert start["status"] == 200
    assert json.loads(body["body"])["result"] == {"resultType": "input_required"}
    exchange.give_up()


async def test_a_large_request_whose_client_is_asked_makes_room_for_the_answer():
    room, who, began = Room(10, 10), Allowance(), session()
    held = await room.enter(10, who)
    exchange = Exchange(Wire(), Asked("tools/call", {}, 1, bulk=held), streams=True, session=began)
    asking = asyncio.ensure_future(exchange.ask("elicitation/create", {}))
    await asyncio.sleep(0)
    async with fail_after(10, "room for the answer"):
        (await room.enter(10, who)).release()
    (answer,) = began.asked.values()
    answer.set_result(Message(id="x", result={}))
    assert await asking == {}


class Slow:
    """Who answers when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def serve(self, asked: Asked, client: object = None) -> dict[str, Any]:
        await self.go.wait()
        return {"done": True}


async def waiting() -> dict[str, Any]:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def silent_for(seconds: float, *, new: bool, streams: bool) -> list[dict[str, Any]]:
    async def silence() -> list[dict[str, Any]]:
        wire, slow = Wire(), Slow()
        exchange = Exchange(wire, Asked("tools/call", {}, 1, new=new), streams=streams)
        serving = asyncio.ensure_future(exchange.serve(slow, Attention(waiting)))
        await asyncio.sleep(seconds)
        slow.go.set()
        await serving
        await asyncio.sleep(60)
        return wire.events

    return in_virtual_time(silence())


@pytest.mark.parametrize("new", [True, False])
def test_a_call_that_is_silent_for_long_is_answered_by_a_stream_that_says_it_is_still_there(new: bool):
    start, *parts, last = silent_for(50, new=new, streams=True)
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream"
    assert [part["body"] for part in parts] == [COMMENT] * 3
    assert last["body"].startswith(b"event: message")
    assert not last["more_body"]


@pytest.mark.parametrize(("seconds", "streams"), [(14, True), (50, False)])
def test_one_that_is_not_or_whose_client_takes_no_stream_is_answered_as_ever(seconds: float, streams: bool):
    start, body = silent_for(seconds, new=True, streams=streams)
    assert dict(start["headers"])[b"content-type"] == b"application/json"
    assert json.loads(body["body"])["result"] == {"done": True}


def test_where_a_person_is_sent_is_known_to_the_session_from_then_on():
    kept = session()
    assert old(Wire(), kept).send_away("it", "1") != "1"
    assert kept.outlet.finished("it", "1")
