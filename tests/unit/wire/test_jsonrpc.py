"""JSON-RPC messages, read and written."""

import contextlib
import gc
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.errors import InvalidArguments, PeerRefused, ProtocolViolation
from bascule.wire.json_limits import MAX_DEPTH
from bascule.wire.jsonrpc import (
    LARGE,
    SAMPLE,
    Message,
    normal_id,
    read_message,
    refusal,
    sample,
    take_result,
    write_arguments,
    write_error,
    write_notification,
    write_request,
    write_result,
)


def test_a_reply_is_read():
    message = read_message(b'{"jsonrpc":"2.0","id":7,"result":{"a":1}}')

    assert (message.id, message.method, message.result) == (7, None, {"a": 1})
    assert message.error is msgspec.UNSET


def test_a_null_result_is_told_apart_from_none_at_all():
    assert read_message(b'{"id":1,"result":null}').result is None
    assert read_message(b'{"id":1}').result is msgspec.UNSET


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Server listening on port 8080",
        b"[]",
        b"7",
        b'{"id":1,"method":7}',
        b'{"id":1,"result":{}',
        b'{"id":1}{"id":2}',
        b'{"id":1,"result":"\xff"}',
        b'{"id":1,"result":"\\ud800"}',
        b"[" * 100_000,
        b'{"id":' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_message_is_a_violation(data: bytes):
    with pytest.raises(ProtocolViolation) as caught:
        read_message(data)

    assert len(caught.value.evidence) < 4 * SAMPLE


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything_else(data: bytes):
    with contextlib.suppress(ProtocolViolation):
        read_message(data)


def test_a_message_may_nest_to_the_limit_and_no_deeper():
    def nested(levels: int) -> bytes:
        return b'{"id":1,"result":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

    assert read_message(nested(MAX_DEPTH)).id == 1
    with pytest.raises(ProtocolViolation, match="nests deeper"):
        read_message(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("collecting", [True, False])
def test_a_large_message_leaves_the_garbage_collector_as_it_was(collecting: bool):
    was = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        assert len(read_message(b'{"result":"' + b"x" * LARGE + b'"}').result) == LARGE
        with pytest.raises(ProtocolViolation):
            read_message(b'{"result":"' + b"x" * LARGE)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if was else gc.disable)()


def test_a_sample_is_short_and_shows_control_characters_as_escapes():
    assert sample(b"plain") == "plain"
    assert sample(b"\x1b[31mred\x00") == "\\x1b[31mred\\x00"
    assert sample(b"x" * 1000) == "x" * SAMPLE + "…"
    assert sample(bytearray(b"\xff")) == "�"


@pytest.mark.parametrize(
    ("given_id", "ours"),
    [
        (7, 7),
        ("7", 7),
        ("a-7", "a-7"),
        ("", ""),
        ("٧", "٧"),
        ("9" * 19, "9" * 19),
        (True, None),
        (7.0, None),
        (None, None),
        ([], None),
    ],
)
def test_an_id_comes_back_as_we_wrote_it(given_id: Any, ours: Any):
    assert normal_id(given_id) == ours


def test_what_is_written_is_json_rpc():
    assert json.loads(write_request(1, "ping", None)) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert json.loads(write_request("a", "x", {"b": 1}))["params"] == {"b": 1}
    assert json.loads(write_notification("n", None)) == {"jsonrpc": "2.0", "method": "n"}
    assert json.loads(write_notification("n", {}))["params"] == {}
    assert json.loads(write_result(3, {"ok": True})) == {"jsonrpc": "2.0", "id": 3, "result": {"ok": True}}
    assert json.loads(write_error(3, -32601, "no"))["error"] == {"code": -32601, "message": "no"}
    assert json.loads(write_error(3, -32601, "no", [1]))["error"]["data"] == [1]


def test_a_message_has_no_line_break_in_it_whatever_its_text():
    assert b"\n" not in write_request(1, "x", {"text": "a\nb\r\n\u2028"})


def test_arguments_travel_as_they_were_written():
    arguments = write_arguments({"a": 1})

    assert json.loads(write_request(1, "x", {"arguments": arguments}))["params"] == {"arguments": {"a": 1}}


@pytest.mark.parametrize("value", [object(), "\ud800", 10**5000], ids=["object", "surrogate", "long number"])
def test_arguments_that_json_cannot_say_are_the_callers_mistake(value: Any):
    with pytest.raises(InvalidArguments, match="not JSON"):
        write_arguments({"a": value})


def test_arguments_that_contain_themselves_are_the_callers_mistake():
    circle: dict[str, Any] = {}
    circle["a"] = circle

    with pytest.raises(InvalidArguments, match="not JSON"):
        write_arguments(circle)


def test_a_result_is_taken_from_its_reply():
    assert take_result(Message(id=1, result={"a": 1}), phase="call") == {"a": 1}


def test_an_error_in_a_reply_is_raised_with_all_it_says():
    error = {"code": -32020, "message": "headers differ", "data": {"x": 1}}

    with pytest.raises(PeerRefused, match="headers differ") as caught:
        take_result(Message(id=1, error=error), phase="list")

    assert (caught.value.rpc_code, caught.value.data, caught.value.phase) == (-32020, {"x": 1}, "list")


@pytest.mark.parametrize("result", [None, [], "text", 7, msgspec.UNSET])
def test_a_reply_with_neither_result_nor_error_is_a_violation(result: Any):
    with pytest.raises(ProtocolViolation, match="neither"):
        take_result(Message(id=1, result=result), phase="call")


@pytest.mark.parametrize("error", [None, "boom", 7, ["x"], "y" * 10_000])
def test_a_malformed_error_is_still_an_error(error: Any):
    told = refusal(error, phase="call")

    assert told.rpc_code == 0
    assert not told.readable
    assert len(told.message) < 300


def test_an_error_without_words_is_told_by_its_code():
    assert refusal({"code": -1, "message": ""}, phase="call").message == "the server answered with error -1"
    assert refusal({"code": "x"}, phase="call").rpc_code == 0
    assert refusal({"code": "x"}, phase="call").readable


def test_fields_we_do_not_know_are_left_unread():
    message = read_message('{"jsonrpc":"2.0","id":1,"result":{},"vendor":{"é":[1]}}'.encode())
    assert (message.id, message.result) == (1, {})


@pytest.mark.parametrize("data", [b'{"id":1,"result":{},"vendor":"\xe5"}', b'{"jsonrpc":"\xff","id":1,"result":{}}'])
def test_bytes_that_are_no_text_are_refused_even_where_nobody_reads_them(data: bytes):
    with pytest.raises(ProtocolViolation, match="not a JSON-RPC message"):
        read_message(data)
