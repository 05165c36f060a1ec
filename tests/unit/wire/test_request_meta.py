import copy
from typing import Any

import mcp_types
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared import inbound
from mcp_types import jsonrpc
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from bascule.core.request import Request
from bascule.core.trace_context import TraceContext
from bascule.wire import request_meta
from bascule.wire.request_meta import Stamp, header_value, new_stamp, old_stamp, traceparent

INFO = {"name": "bascule", "version": "1"}
NEW = new_stamp("2026-07-28", INFO, {"elicitation": {}})
OLD = old_stamp("2025-11-25")


def fives(bits: int) -> int:
    return int.from_bytes(b"\x05" * (bits // 8))


TRACE = traceparent(fives)

awkward = st.sampled_from(["", " x", "x ", "=?base64?eA==?=", "=?base64?\n?=", "é", "\x7f", "a\nb", "\u2028"])


def test_the_versions_are_those_of_the_sdk():
    assert request_meta.NEW_VERSIONS == MODERN_PROTOCOL_VERSIONS
    assert request_meta.OLD_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


def test_the_keys_are_those_of_the_sdk():
    assert request_meta.VERSION_KEY == mcp_types.PROTOCOL_VERSION_META_KEY
    assert request_meta.CLIENT_INFO_KEY == mcp_types.CLIENT_INFO_META_KEY
    assert request_meta.CAPABILITIES_KEY == mcp_types.CLIENT_CAPABILITIES_META_KEY
    assert request_meta.LOG_LEVEL_KEY == mcp_types.LOG_LEVEL_META_KEY


def test_the_error_codes_are_those_of_the_sdk():
    assert request_meta.HEADER_MISMATCH == jsonrpc.HEADER_MISMATCH
    assert request_meta.MISSING_CAPABILITY == jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert request_meta.UNSUPPORTED_VERSION == jsonrpc.UNSUPPORTED_PROTOCOL_VERSION
    assert request_meta.METHOD_NOT_FOUND == jsonrpc.METHOD_NOT_FOUND
    assert request_meta.INTERNAL_ERROR == jsonrpc.INTERNAL_ERROR


def test_the_methods_that_bear_a_name_are_those_of_the_sdk_and_of_tasks():
    assert {**inbound.NAME_BEARING_METHODS, **dict.fromkeys(request_meta._TASKS, "taskId")} == request_meta._NAMED_BY


@given(st.text() | awkward)
def test_a_header_value_is_encoded_as_the_sdk_encodes_it(value: str):
    assert header_value(value) == inbound.encode_header_value(value)


@given(st.text() | awkward)
def test_a_header_value_survives_the_way(value: str):
    assert inbound.decode_header_value(header_value(value)) == value
    assert header_value(value).isascii()


def test_the_new_era_gets_its_envelope_on_every_request():
    sent = NEW.params({"name": "echo"}, TRACE)

    assert sent["name"] == "echo"
    assert sent["_meta"][request_meta.VERSION_KEY] == "2026-07-28"
    assert sent["_meta"][request_meta.CLIENT_INFO_KEY] == INFO
    assert sent["_meta"][request_meta.CAPABILITIES_KEY] == {"elicitation": {}}


def test_the_sdk_routes_what_we_stamp():
    params = {"name": "größe", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": NEW.params(params, TRACE)}

    route = inbound.classify_inbound_request(body, headers=NEW.headers("tools/call", params))

    assert isinstance(route, inbound.InboundModernRoute)


def test_the_old_era_gets_the_trace_alone():
    assert OLD.params(None, TRACE) == {"_meta": {"traceparent": TRACE}}
    assert OLD.params({}, TRACE) == {"_meta": {"traceparent": TRACE}}


@pytest.mark.parametrize("mark", [NEW, OLD], ids=["new", "old"])
def test_the_parameters_of_the_caller_are_never_changed(mark: Stamp):
    params: dict[str, Any] = {"name": "echo", "_meta": {"baggage": "theirs"}}
    before, envelope = copy.deepcopy(params), dict(mark.envelope)

    mark.params(params, TRACE)["_meta"]["added"] = 1

    assert params == before
    assert mark.envelope == envelope


@pytest.mark.parametrize("mark", [NEW, OLD], ids=["new", "old"])
def test_what_a_caller_put_into_meta_does_not_travel(mark: Stamp):
    meta = mark.params({"_meta": {"baggage": "theirs", "traceparent": "theirs"}}, TRACE)["_meta"]

    assert meta == {**mark.envelope, "traceparent": TRACE}


def test_headers_name_the_version_the_method_and_what_it_is_about():
    assert NEW.headers("tools/list", None) == {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    assert NEW.headers("tools/call", {"name": "echo"})["mcp-name"] == "echo"
    assert NEW.headers("resources/read", {"uri": "a://b", "name": "no"})["mcp-name"] == "a://b"


def test_a_name_that_is_no_text_makes_no_header():
    assert "mcp-name" not in NEW.headers("tools/call", {"name": 7})


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"], ids=["zeros", "ones"])
def test_a_trace_is_well_formed_and_never_all_zeros(byte: bytes):
    version, trace, span, flags = traceparent(lambda bits: int.from_bytes(byte * (bits // 8))).split("-")

    assert (version, flags) == ("00", "01")
    assert (len(trace), len(span)) == (32, 16)
    assert int(trace, 16) > 0
    assert int(span, 16) > 0


def test_remarks_are_asked_for_from_a_level_on_or_not_at_all():
    asked = new_stamp("2026-07-28", INFO, {}, "warning").params(None, "t")["_meta"]

    assert asked[request_meta.LOG_LEVEL_KEY] == "warning"
    assert request_meta.LOG_LEVEL_KEY not in NEW.params(None, "t")["_meta"]


def test_what_a_request_wants_to_hear_is_said_with_it_unless_more_is_wanted_anyway():
    quiet = new_stamp("2026-07-28", {}, {}, "warning")
    assert quiet.heard_from("info").params(None, "t")["_meta"][request_meta.LOG_LEVEL_KEY] == "info"
    assert quiet.heard_from("error").params(None, "t")["_meta"][request_meta.LOG_LEVEL_KEY] == "warning"
    assert quiet.heard_from("") == quiet
    assert new_stamp("2026-07-28", {}, {}).heard_from("") == new_stamp("2026-07-28", {}, {})
    assert old_stamp("2025-11-25").heard_from("debug") == old_stamp("2025-11-25")


def test_the_state_of_a_trace_goes_with_it_where_there_is_one():
    assert OLD.params(None, TRACE, None, "a=1") == {"_meta": {"traceparent": TRACE, "tracestate": "a=1"}}
    assert NEW.params({"x": 1}, TRACE, None, "a=1")["_meta"] == {
        **NEW.envelope,
        "traceparent": TRACE,
        "tracestate": "a=1",
    }


async def told(*_: object) -> None:
    """Takes progress."""


@pytest.mark.parametrize("marked", [NEW, OLD, new_stamp("2026-07-28", {"name": 'a"b\n'}, {}, "info")])
@pytest.mark.parametrize("params", [None, {}, {"name": "echo", "arguments": msgspec.Raw(b'{"a":1}')}])
def test_what_is_written_in_advance_says_the_same(marked: Stamp, params: dict[str, Any] | None):
    request = Request("tools/call", params, 1.0)

    written = marked.params_of(request, fives)

    assert isinstance(written["_meta"], msgspec.Raw)
    assert msgspec.json.encode(written) == msgspec.json.encode(marked.params(params, TRACE))


def test_what_somebody_adds_to_is_not_written_in_advance():
    asked = (
        Request("tools/call", {}, 1.0, on_progress=told),
        Request("tools/call", {}, 1.0, capabilities={"roots": {}}),
        Request("tools/call", {}, 1.0, trace=TraceContext(1, 2, state="a=1")),
    )
    sent = [NEW.params_of(request, fives)["_meta"] for request in asked]

    assert [meta[request_meta.CAPABILITIES_KEY] for meta in sent] == [
        {"elicitation": {}},
        {"roots": {}},
        {"elicitation": {}},
    ]
    assert [meta["traceparent"] == TRACE for meta in sent] == [True, True, False]
    assert [meta.get("tracestate") for meta in sent] == [None, None, "a=1"]


def test_one_who_hears_remarks_is_told_apart():
    sent = NEW.heard_from("debug").params_of(Request("tools/call", {}, 1.0), fives)

    assert sent["_meta"][request_meta.LOG_LEVEL_KEY] == "debug"
