"""A connection on a byte stream: answers owed, back-pressure, its end, and one request in flight."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import Ask, NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.notifications import Tell
from bascule.gateway.stdio import connection as module
from bascule.gateway.stdio.connection import Connection, Turn
from support.runtime import settled
from support.waiting import fail_after


class SlowDesk:
    """Answers when it is told to, and at once what is called `now`."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.taken_back: list[Any] = []
        self.open = asyncio.Event()
        self.chatted = 0
        self.capabilities: dict[str, Any] = {}
        self.telling = self.ended = False
        self.other_roots = 0

    def level(self, asked: Asked) -> str:
        return asked.params.get("level", "")

    def send_away(self, server: str, theirs: str) -> str:
        return f"{server} {theirs}"

    def begin_telling(self, tell: Tell, ask: Ask) -> None:
        self.telling = True

    def roots_changed(self) -> None:
        self.other_roots += 1

    def end_streams(self) -> None:
        self.ended = True

    async def serve(self, asked: Asked, client: Client) -> JsonObject:
        self.begun.append(asked.id)
        match asked.method:
            case "now":
                return {"id": asked.id}
            case "ask":
                return {"answer": await client.ask("roots/list", {}), "offered": [*client.capabilities]}
            case "break":
                raise ZeroDivisionError
            case "refuse":
                raise Rejected(-32602, "no")
            case _:
                await self._say(asked, client)
                return await self._wait(asked)

    async def _say(self, asked: Asked, client: Client) -> None:
        match asked.method:
            case "tell":
                await client.tell("notifications/told", {"of": asked.id})
            case "chat":
                for _ in range(1000):
                    await client.tell("notifications/told", {})
                    self.chatted += 1
            case "aside":
                await client.let_go({"resultType": "input_required"})
            case _:
                pass

    async def _wait(self, asked: Asked) -> JsonObject:
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.taken_back.append(asked.id)
            raise
        return {"id": asked.id}


class Pipe:
    """Both ends, as the loop's transports are."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.paused = False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def write(self, data: bytes) -> None:
        self.written += data

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.splitlines()]


def request(number: Any, method: str = "wait", **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def unwanted(number: Any) -> bytes:
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
    return json.dumps(told).encode() + b"\n"


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[Connection, SlowDesk, Pipe]]:
    desk, pipe = SlowDesk(), Pipe()
    connection = Connection(desk, 1000)
    connection.write_to(pipe.write)
    connection.read_from(pipe)
    async with fail_after(10, "a connection"):
        yield connection, desk, pipe
        connection.give_up()
        await connection.finish(5)


async def test_requests_are_served_side_by_side_and_answered_as_they_end():
    async with connected() as (connection, _, pipe):
        connection.feed(request(1) + request("two", "now") + request(3, "refuse"))
        await settled()
        assert [message["id"] for message in pipe.said] == ["two", 3]


async def test_what_is_told_comes_before_the_answer():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1, "tell"))
        desk.open.set()
        await connection.finish(5)
        assert [message.get("method") for message in pipe.said] == ["notifications/told", None]


async def test_what_is_unwanted_is_taken_back_whether_it_was_begun_or_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "UNDER_WAY", 2)
    async with connected() as (connection, desk, pipe):
        connection.feed(b"".join(map(request, (1, 2, 3, 4))))
        await settled()
        connection.feed(unwanted(1) + unwanted(3) + unwanted("1") + unwanted(99) + unwanted(None) + unwanted([1]))
        await settled()
        desk.open.set()
        await connection.finish(5)
        assert (desk.begun, desk.taken_back) == ([1, 2, 4], [1])
        assert [message["id"] for message in pipe.said] == [2, 4]


async def test_an_id_in_use_is_not_answered_twice():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1) + request(1, "now"))
        await settled()
        assert pipe.said[0]["id"] is None
        assert pipe.said[0]["error"]["code"] == -32600
        desk.open.set()
        await connection.finish(5)
        connection.feed(request(1, "now"))
        assert [message["id"] for message in pipe.said] == [None, 1]


async def test_an_error_of_ours_is_told_as_such_and_ends_nothing_else(caplog: pytest.LogCaptureFixture):
    async with connected() as (connection, _, pipe):
        connection.feed(request(1, "break") + request(2, "now"))
        await settled()
        assert {message["id"]: "error" in message for message in pipe.said} == {1: True, 2: False}
    assert "ZeroDivisionError" in caplog.text


async def test_to_who_does_not_read_no_more_is_begun_and_nothing_is_written():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1) + request(2, "tell"))
        await settled()
        connection.pause_output()
        before = len(pipe.written)
        desk.open.set()
        connection.feed(request(3, "now") + b"junk\n")
        await settled()
        assert (desk.begun, len(pipe.written)) == ([1, 2], before)
        connection.resume_output()
        await connection.finish(5)
        assert {message.get("id") for message in pipe.said[1:]} == {1, 2, 3, None}


async def test_who_does_not_read_is_told_no_more():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1, "chat"))
        connection.pause_output()
        await settled()
        assert (desk.chatted, bytes(pipe.written)) == (0, b"")
        connection.resume_output()
        await settled()
        assert desk.chatted == 1000


async def test_no_more_is_read_than_may_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "UNDER_WAY", 1)
    monkeypatch.setattr(module, "WAITING", 4 * module.OVERHEAD)
    async with connected() as (connection, desk, pipe):
        connection.feed(b"".join(map(request, range(3))))
        assert not pipe.paused
        connection.feed(b"".join(map(request, range(3, 6))))
        assert pipe.paused
        desk.open.set()
        await connection.finish(5)
        assert not pipe.paused
        assert len(pipe.said) == 6


async def test_at_the_end_what_takes_too_long_is_taken_back_and_nothing_new_is_begun():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1))
        await settled()
        ending = asyncio.ensure_future(connection.finish(60))
        await settled()
        connection.feed(request(2, "now"))
        await settled()
        assert pipe.said[0]["error"]["message"] == "the gateway is about to end"
        await connection.finish(0)
        await ending
        connection.feed(request(3, "now"))
        await settled()
        assert (desk.begun, desk.taken_back, len(pipe.said), desk.ended) == ([1], [1], 1, True)


async def test_once_nothing_can_be_said_all_is_taken_back():
    async with connected() as (connection, desk, _):
        connection.feed(request(1))
        await settled()
        connection.pause_output()
        connection.lose_output()
        await connection.finish(5)
        assert connection.gone.done()
        assert desk.taken_back == [1]


async def test_replies_and_notifications_are_not_answered_whatever_they_say():
    async with connected() as (connection, _, pipe):
        connection.feed(b'{"jsonrpc":"2.0","id":5,"result":{}}\n{"jsonrpc":"2.0","id":5,"error":{}}\n')
        connection.feed(b'{"jsonrpc":"2.0","method":"x"}\n{"jsonrpc":"2.0","method":"x","params":[]}\n')
        connection.feed(request(1, "now"))
        await connection.finish(5)
        assert len(pipe.said) == 1


async def test_a_client_of_the_old_era_is_asked_and_its_answer_goes_to_who_wanted_it():
    async with connected() as (connection, desk, pipe):
        desk.open.set()
        desk.capabilities = {"roots": {}}
        connection.feed(request(1, "ask") + request(2, "ask"))
        await settled()
        first, second = pipe.said
        assert first["method"] == second["method"] == "roots/list"
        refused = {"jsonrpc": "2.0", "id": second["id"], "result": {"roots": []}}
        strange = {"jsonrpc": "2.0", "id": [1], "result": 5}
        connection.feed(json.dumps(strange).encode() + b"\n" + json.dumps(refused).encode() + b"\n")
        await settled()
        assert pipe.said[2] == {"jsonrpc": "2.0", "id": 2, "result": {"answer": {"roots": []}, "offered": ["roots"]}}
        connection.feed(unwanted(1))
        await settled()
        assert pipe.said[3]["params"]["requestId"] == first["id"]


async def test_a_client_that_answers_with_an_error_has_not_answered(caplog: pytest.LogCaptureFixture):
    async with connected() as (connection, _, pipe):
        connection.feed(request(1, "ask"))
        await settled()
        connection.feed(json.dumps({"jsonrpc": "2.0", "id": pipe.said[0]["id"], "error": {"message": "no"}}).encode())
        connection.feed(b"\n")
        await settled()
    assert "NotAnswered" in caplog.text


async def test_one_that_was_answered_and_goes_on_frees_its_id_and_keeps_nobody_from_ending():
    async with connected() as (connection, desk, pipe):
        connection.feed(request(1, "aside"))
        await settled()
        connection.feed(request(1, "now"))
        await settled()
        assert [message["result"] for message in pipe.said] == [{"resultType": "input_required"}, {"id": 1}]
        await connection.finish(60)
        assert desk.taken_back == [1]
        assert len(pipe.said) == 2


async def test_a_client_that_is_ready_to_hear_of_news_says_so():
    async with connected() as (connection, desk, _):
        assert not desk.telling
        connection.feed(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        assert desk.telling


async def test_a_client_that_has_other_roots_says_so():
    async with connected() as (connection, desk, _):
        connection.feed(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n')
        assert desk.other_roots == 1


OLD, NEW = {"roots": {}}, {"sampling": {}}
META = {"io.modelcontextprotocol/clientCapabilities": NEW}


class Noting:
    """A connection that only notes what is wanted of it."""

    capabilities: Mapping[str, Any] = OLD

    def __init__(self) -> None:
        self.done: list[Any] = []

    async def tell(self, method: str, params: JsonObject) -> None:
        self.done.append((method, params))

    async def ask(self, method: str, params: JsonObject) -> Any:
        return {"asked": method, **params}

    def send_away(self, server: str, theirs: str) -> str:
        return f"{server} {theirs}"

    async def put_aside(self, turn: Turn, result: JsonObject) -> None:
        self.done.append((turn.key, result))

    def take_back(self, turn: Turn) -> None:
        self.done.append(turn.key)


def turn(line: Noting, *, new: bool) -> Turn:
    return Turn(line, 7, Asked("tools/call", {}, 7, META if new else {}, new))


async def test_what_a_client_can_be_asked_is_said_by_its_request_or_was_said_before():
    line = Noting()
    assert (turn(line, new=True).capabilities, turn(line, new=False).capabilities) == (NEW, OLD)


async def test_only_a_client_of_the_old_era_is_asked_by_a_request():
    line = Noting()
    assert await turn(line, new=False).ask("roots/list", {}) == {"asked": "roots/list"}
    with pytest.raises(NotAnswered):
        await turn(line, new=True).ask("roots/list", {})


async def test_where_a_person_is_sent_the_connection_names():
    assert turn(Noting(), new=False).send_away("it", "1") == "it 1"


async def test_one_that_was_let_go_is_answered():
    line = Noting()
    one = turn(line, new=True)
    assert not one.answered
    await one.tell("a", {})
    await one.let_go({"b": 1})
    one.give_up()
    assert one.answered
    assert line.done == [("a", {}), (7, {"b": 1}), 7]
