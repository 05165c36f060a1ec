"""Every rung of the ladder that a message of a client has to climb."""

from typing import Any

import pytest

from bascule.gateway.errors import INVALID_REQUEST, PARSE_ERROR, Rejected
from bascule.gateway.http.headers import Head
from bascule.gateway.mcp.envelope import Asked, check_new, check_shape, header_text, read_body
from bascule.wire.jsonrpc import Message
from bascule.wire.request_meta import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}}
CALL = {"name": "act", "_meta": META}
HEAD: dict[str, Any] = {"version": "2026-07-28", "method": "tools/call", "name": "act"}


def shape(head: Head | None = None, **fields: Any) -> Asked:
    whole: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", **fields}
    return check_shape(Message(**whole), head)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"\xff", PARSE_ERROR),
        (b'{"method": "\xff"}', PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID_REQUEST),
        (b'"ping"', INVALID_REQUEST),
        (b'{"method": 5}', INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_told_apart_from_what_is_no_json(body: bytes, code: int):
    with pytest.raises(Rejected) as caught:
        read_body(body)
    assert (caught.value.code, caught.value.status) == (code, 400)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": [{"method": 1, "method": 2}]}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"method": 1, "method": 2}}',
    ],
)
def test_a_message_with_a_duplicate_key_is_rejected_by_the_name_of_the_key(body: bytes):
    with pytest.raises(Rejected, match="an object of the message has the key 'method' twice") as caught:
        read_body(body)
    assert (caught.value.code, caught.value.status) == (INVALID_REQUEST, 400)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"jsonrpc": "1.0"}, INVALID_REQUEST),
        ({"jsonrpc": None}, INVALID_REQUEST),
        ({"method": None, "result": {}}, INVALID_REQUEST),
        ({"id": True}, INVALID_REQUEST),
        ({"id": 1.5}, INVALID_REQUEST),
        ({"id": ["a"]}, INVALID_REQUEST),
        ({"params": [1]}, INVALID_PARAMS),
        ({"params": {"_meta": 3}}, INVALID_PARAMS),
    ],
)
def test_what_is_no_request_is_rejected(fields: dict[str, Any], code: int):
    with pytest.raises(Rejected) as caught:
        shape(**fields)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("fields", "head", "new"),
    [
        ({"params": CALL}, None, True),
        ({"params": {}}, None, False),
        ({"params": {}}, Head(version="2026-07-28"), True),
        ({"params": {}}, Head(version="2025-11-25"), False),
        ({"method": "server/discover"}, None, True),
        ({"method": "initialize"}, Head(), False),
    ],
)
def test_the_era_is_told_by_the_envelope_the_header_or_the_method(fields: dict[str, Any], head: Head | None, new: bool):
    assert shape(head, **fields).new is new


def test_only_the_new_era_repeats_arguments_as_headers():
    given = Head(version="2026-07-28", params={"mcp-param-city": "Bern"})
    assert shape(given, params=CALL).headers == {"mcp-param-city": "Bern"}
    assert shape(Head(params={"mcp-param-city": "Bern"}), params={}).headers is None
    assert shape(None, params=CALL).headers is None


@pytest.mark.parametrize(
    ("params", "head", "code"),
    [
        ({"name": "act", "_meta": {VERSION: "2026-07-28"}}, HEAD, INVALID_PARAMS),
        ({"name": "act", "_meta": {CAPABILITIES: {}}}, HEAD, INVALID_PARAMS),
        (CALL, {**HEAD, "version": None}, HEADER_MISMATCH),
        (CALL, {**HEAD, "version": "2025-11-25"}, HEADER_MISMATCH),
        (CALL, {**HEAD, "method": None}, HEADER_MISMATCH),
        (CALL, {**HEAD, "method": "TOOLS/CALL"}, HEADER_MISMATCH),
        (CALL, {**HEAD, "name": None}, HEADER_MISMATCH),
        (CALL, {**HEAD, "name": "Act"}, HEADER_MISMATCH),
        (CALL, {**HEAD, "name": "=?base64?YWN0IQ==?="}, HEADER_MISMATCH),
        (CALL, {**HEAD, "twice": "mcp-name"}, HEADER_MISMATCH),
        (
            {"name": "act", "_meta": {**META, VERSION: "2027-01-01"}},
            {**HEAD, "version": "2027-01-01"},
            UNSUPPORTED_VERSION,
        ),
        ({"name": "act", "_meta": {**META, VERSION: 7}}, None, INVALID_PARAMS),
    ],
)
def test_the_first_thing_that_is_wrong_is_told(params: Any, head: Any, code: int):
    given = None if head is None else Head(**head)
    with pytest.raises(Rejected) as caught:
        check_new(shape(given, params=params), given)
    assert (caught.value.code, caught.value.status) == (code, 400)


def test_a_version_nobody_speaks_is_answered_with_those_that_are_spoken():
    with pytest.raises(Rejected) as caught:
        check_new(shape(params={"_meta": {**META, VERSION: "2027-01-01"}}), None)
    assert caught.value.data == {"supported": ["2026-07-28"], "requested": "2027-01-01"}


@pytest.mark.parametrize("name", ["act", "=?base64?YWN0?="])
def test_headers_that_repeat_the_body_are_in_order(name: str):
    head = Head(version="2026-07-28", method="tools/call", name=name)
    check_new(shape(head, params=CALL), head)
    check_new(shape(params=CALL), None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("plain", "plain"),
        ("=?base64?w6k=?=", "é"),
        ("=?base64?w6l=?=", None),
        ("=?base64?!!?=", None),
        ("=?base64?/w==?=", None),
    ],
)
def test_a_wrapped_header_is_read_in_one_way_only(value: str | None, text: str | None):
    assert header_text(value) == text


@pytest.mark.parametrize(("token", "taken"), [("a", "a"), (7, 7), (True, None), (1.5, None), (None, None), ([], None)])
def test_a_progress_token_is_text_or_a_whole_number(token: Any, taken: Any):
    assert shape(params={"_meta": {"progressToken": token}}).progress_token == taken
