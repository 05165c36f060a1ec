from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from bascule.core.errors import PermitLost
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import Response, is_new_era, progress_of
from support.runtime import settled
from support.streams import Leave, Loopback


def test_the_eras_are_told_apart_as_the_sdk_does():
    assert all(map(is_new_era, MODERN_PROTOCOL_VERSIONS))
    assert not any(map(is_new_era, HANDSHAKE_PROTOCOL_VERSIONS))
    assert not is_new_era(None)


def test_progress_is_read_in_full():
    assert progress_of({"progress": 1, "total": 4.5, "message": "a quarter"}) == (1, 4.5, "a quarter")


def test_progress_needs_only_how_far():
    assert progress_of({"progress": 0.5}) == (0.5, None, None)


def test_what_is_odd_beside_the_progress_is_left_out():
    assert progress_of({"progress": 1, "total": "4", "message": 7}) == (1, None, None)


@pytest.mark.parametrize("value", [None, "1", [1], {}])
def test_progress_that_is_no_number_is_none(value: Any):
    assert progress_of({"progress": value, "total": 4}) is None


def question(number: int) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {}}


async def test_an_answer_is_written_while_its_permit_holds():
    stream, leave = Loopback(), Leave()

    async def answer(method: str, params: JsonObject) -> Response:
        return Response({"action": "accept"}, leave)

    stream.on_request = answer
    stream.say(question(1))
    await settled()

    assert stream.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}]


async def test_an_answer_whose_permit_is_lost_while_the_pipe_is_full_is_never_written():
    stream, leave = Loopback(), Leave()

    async def answer(method: str, params: JsonObject) -> Response:
        return Response({"action": "accept", "content": {"secret": "s"}}, leave)

    stream.on_request = answer
    stream.pause_output()
    stream.say(question(1))
    await settled()
    leave.given = False
    stream.resume_output()
    stream.say({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    await settled()

    assert stream.sent == [{"jsonrpc": "2.0", "id": 2, "result": {}}]


async def test_where_nothing_may_be_written_not_even_a_refusal_is():
    stream = Loopback()

    async def answer(method: str, params: JsonObject) -> Response:
        raise PermitLost("private data came in")

    stream.on_request = answer
    stream.say(question(1))
    await settled()

    assert stream.sent == []
