import asyncio
from typing import Any

import msgspec

from bascule.core.errors import PeerRefused, PermitLost, Refused
from bascule.core.json_types import JsonObject
from bascule.core.request import Permit
from bascule.transports.dispatcher import Counters, OnNotice, OnRequest, Response
from bascule.transports.http.server_messages import MAX_ANSWERS, Inbound
from bascule.transports.progress import ProgressRelay
from bascule.wire.jsonrpc import Message
from support.http_links import LONG, Leave
from support.waiting import fail_after


class Receiver:
    """An inbound side whose answers go into a queue."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.permits: list[Permit | None] = []
        self.on_notice: OnNotice | None = None
        self.on_request: OnRequest | None = None
        self.inbound = Inbound(self, Counters(), self._reply)

    async def _reply(self, data: bytes, permit: Permit | None) -> None:
        self.permits.append(permit)
        self.answers.put_nowait(msgspec.json.decode(data))

    async def answer_to(self, method: str, params: JsonObject | None = None) -> Any:
        self.inbound.take(Message(id=9, method=method, params=params), None)
        async with fail_after(LONG):
            return await self.answers.get()


async def test_a_ping_is_answered_whoever_listens():
    receiver = Receiver()

    assert await receiver.answer_to("ping") == {"jsonrpc": "2.0", "id": 9, "result": {}}


async def test_without_anyone_to_answer_a_request_is_refused():
    answer = await Receiver().answer_to("sampling/createMessage")

    assert (answer["id"], answer["error"]["code"]) == (9, -32601)


async def test_a_request_is_answered_by_the_one_who_listens():
    async def on_request(method: str, params: JsonObject) -> Response:
        return Response({"method": method, "params": params})

    receiver = Receiver()
    receiver.on_request = on_request

    answer = await receiver.answer_to("elicitation/create", {"a": 1})
    assert answer["result"] == {"method": "elicitation/create", "params": {"a": 1}}


async def test_a_refusal_is_answered_with_its_code_and_data():
    async def on_request(method: str, params: JsonObject) -> Response:
        raise PeerRefused("not now", rpc_code=-1, data={"later": True})

    receiver = Receiver()
    receiver.on_request = on_request

    assert (await receiver.answer_to("x"))["error"] == {"code": -1, "message": "not now", "data": {"later": True}}


async def test_a_rule_that_says_no_is_answered_as_an_error():
    async def on_request(method: str, params: JsonObject) -> Response:
        raise Refused("denied", rule="no_sampling")

    receiver = Receiver()
    receiver.on_request = on_request

    assert (await receiver.answer_to("x"))["error"]["code"] == -32603


async def test_an_answer_goes_out_under_the_permit_of_the_stream_it_came_on():
    receiver, leave = Receiver(), Leave(True)
    receiver.inbound.take(Message(id=1, method="ping"), leave)
    await receiver.answers.get()

    assert receiver.permits == [leave]


async def test_more_requests_than_can_be_answered_at_once_are_dropped():
    release = asyncio.Event()

    async def on_request(method: str, params: JsonObject) -> Response:
        await release.wait()
        return Response({})

    receiver = Receiver()
    receiver.on_request = on_request
    for number in range(MAX_ANSWERS + 5):
        receiver.inbound.take(Message(id=number, method="x"), None)
    release.set()
    async with fail_after(LONG):
        answered = [(await receiver.answers.get())["id"] for _ in range(MAX_ANSWERS)]

    assert answered == [*range(MAX_ANSWERS)]
    assert receiver.inbound.counters.notices_dropped == 5


async def test_a_request_in_an_era_without_them_is_dropped():
    receiver = Receiver()
    receiver.inbound.answering = False
    receiver.inbound.take(Message(id=1, method="ping"), None)

    assert receiver.inbound.counters.notices_dropped == 1


async def test_a_request_with_an_impossible_id_is_garbage():
    receiver = Receiver()
    receiver.inbound.take(Message(id=[1], method="ping"), None)

    assert receiver.inbound.counters.garbage == 1


async def test_a_request_that_the_server_takes_back_is_no_longer_answered():
    stopped = asyncio.Event()

    async def on_request(method: str, params: JsonObject) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return Response({})

    receiver = Receiver()
    receiver.on_request = on_request
    receiver.inbound.take(Message(id="a", method="x"), None)
    await asyncio.sleep(0)
    receiver.inbound.take(Message(method="notifications/cancelled", params={"requestId": "a"}), None)
    async with fail_after(LONG):
        await stopped.wait()

    assert receiver.answers.empty()


async def test_what_was_asked_for_the_sake_of_a_request_is_dropped_with_it():
    asked: list[str] = []
    stopped: list[str] = []

    async def on_request(method: str, params: JsonObject) -> Response:
        asked.append(method)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(method)
        return Response({})

    receiver = Receiver()
    receiver.on_request = on_request
    for number, (method, during) in enumerate((("mine", 7), ("another's", 8), ("nobody's", None), ("mine too", 7))):
        receiver.inbound.take(Message(id=number, method=method), None, during)
    await asyncio.sleep(0)
    receiver.inbound.forsake(7)
    await asyncio.sleep(0)

    assert len(asked) == 4
    assert stopped == ["mine", "mine too"]
    await receiver.inbound.close()
    assert receiver.inbound._asked_by == {}


async def test_closing_ends_the_answers_in_progress():
    async def on_request(method: str, params: JsonObject) -> Response:
        await asyncio.Event().wait()
        return Response({})

    receiver = Receiver()
    receiver.on_request = on_request
    receiver.inbound.take(Message(id=1, method="x"), None)
    async with fail_after(LONG):
        await receiver.inbound.close()

    assert receiver.answers.empty()


async def test_notifications_arrive_in_order():
    heard: list[tuple[str, JsonObject]] = []
    receiver = Receiver()
    receiver.on_notice = lambda method, params: heard.append((method, params))
    receiver.inbound.take(Message(method="a", params={"x": 1}), None)
    receiver.inbound.take(Message(method="b", params="odd"), None)

    assert heard == [("a", {"x": 1}), ("b", {})]


async def test_notifications_that_nobody_hears_are_counted():
    receiver = Receiver()
    receiver.inbound.take(Message(method="a"), None)

    assert receiver.inbound.counters.notices_dropped == 1


async def test_progress_goes_to_the_request_it_is_about_and_to_no_other():
    heard: asyncio.Queue[tuple[float, float | None, str | None]] = asyncio.Queue()
    receiver = Receiver()
    receiver.inbound.relays[7] = ProgressRelay(lambda *told: heard.put_nowait(told))
    for token in (7, "7", 8, None, [7]):
        progress = {"progressToken": token, "progress": 1, "total": 2, "message": "m"}
        receiver.inbound.take(Message(method="notifications/progress", params=progress), None)
        await asyncio.sleep(0)
    async with fail_after(LONG):
        assert [await heard.get(), await heard.get()] == [(1, 2, "m"), (1, 2, "m")]

    assert heard.empty()
    assert receiver.inbound.counters.notices_dropped == 3


async def test_a_reply_to_nobody_is_a_stray():
    receiver = Receiver()
    receiver.inbound.take(Message(id=77, result={}), None)

    assert receiver.inbound.counters.strays == 1


async def test_an_answer_is_posted_under_its_own_permit():
    own, streams = Leave(), Leave()

    async def on_request(method: str, params: JsonObject) -> Response:
        return Response({}, own)

    receiver = Receiver()
    receiver.on_request = on_request
    receiver.inbound.take(Message(id=9, method="elicitation/create"), streams)
    async with fail_after(LONG):
        await receiver.answers.get()

    assert receiver.permits == [own]


async def test_where_nothing_may_be_written_not_even_a_refusal_is():
    async def on_request(method: str, params: JsonObject) -> Response:
        raise PermitLost("private data came in")

    receiver = Receiver()
    receiver.on_request = on_request
    receiver.inbound.take(Message(id=8, method="elicitation/create"), None)
    await receiver.answer_to("ping")

    assert len(receiver.permits) == 1


async def test_what_is_said_on_the_stream_of_a_request_is_for_its_own_listener():
    receiver, heard, own = Receiver(), list[str](), list[str]()
    receiver.on_notice = lambda method, _: heard.append(method)
    message = Message(method="notifications/message", params={})
    receiver.inbound.take(message, None, 1, lambda method, _: own.append(method))
    receiver.inbound.take(message, None, 1)
    assert (heard, own) == (["notifications/message"], ["notifications/message"])
