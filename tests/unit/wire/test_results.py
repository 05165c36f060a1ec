"""Results of `tools/call` read as outcomes, fatal errors included."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.errors import ProtocolViolation
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.wire.results import MAX_RAW, TOOL_ERROR, error_text, read_fatal, take_outcome

STEPS = {"send": 0.25}


def failed(structured: Any = None, *texts: str) -> dict[str, Any]:
    raw: dict[str, Any] = {"isError": True, "content": [{"type": "text", "text": text} for text in texts]}
    return raw if structured is None else raw | {"structuredContent": structured}


def outcome_of(raw: dict[str, Any]) -> ToolResult | ToolFailure:
    return take_outcome(raw, "files", "read", Lane.PROXIED, STEPS, "json")


@pytest.mark.parametrize(
    "extra", [{}, {"isError": False}, {"resultType": "complete"}, {"structuredContent": {"isError": True}}]
)
def test_a_good_result_is_kept_as_it_was_parsed(extra: dict[str, Any]):
    raw = {"content": [{"type": "text", "text": "hello"}], **extra}
    outcome = outcome_of(raw)

    assert isinstance(outcome, ToolResult)
    assert outcome.raw is raw
    assert outcome.steps is STEPS
    assert (outcome.server, outcome.tool, outcome.lane, outcome.style) == ("files", "read", Lane.PROXIED, "json")


def test_a_result_may_have_structured_content_alone():
    assert outcome_of({"structuredContent": {"a": 1}}).ok


def test_an_error_of_the_tool_is_a_failure_with_its_code_and_cause():
    structured = {"error": {"message": "no such row", "code": 404}, "retryable": "yes", "rows": [1, 2]}
    outcome = outcome_of(failed(structured, "unused"))

    assert isinstance(outcome, ToolFailure)
    assert (outcome.kind, outcome.code) == (FailureKind.TOOL_ERROR, TOOL_ERROR)
    assert outcome.message == "no such row (code=404 retriable=true)"
    assert (outcome.tool_code, outcome.retriable) == (404, True)
    assert outcome.cause is structured
    assert (outcome.server, outcome.tool, outcome.lane) == ("files", "read", Lane.PROXIED)


@pytest.mark.parametrize(
    ("structured", "message"),
    [
        ({"message": "m", "error": "e", "detail": "d"}, "m"),
        ({"error": "e", "detail": "d"}, "e"),
        ({"error": {"message": "em"}, "detail": "d"}, "em"),
        ({"error": {"other": 1}, "detail": "d"}, "d"),
        ({"detail": "d"}, "d"),
        ({"message": "", "error": "e"}, "e"),
        ({"message": 7, "detail": ["x"]}, "the text"),
        ({"unrelated": "x"}, "the text"),
        ({}, "the text"),
        (["message"], "the text"),
        ("message", "the text"),
        (None, "the text"),
    ],
)
def test_words_come_from_the_structured_content_in_this_order_then_from_the_text(structured: Any, message: str):
    assert error_text(failed(structured, "the text")).message == message


def test_all_text_blocks_are_told_and_no_others():
    raw = failed(None, "one", " ", "two")
    raw["content"] += [{"type": "image", "text": "no"}, "no", {"type": "text", "text": 7}]

    assert error_text(raw).message == "one\ntwo"


@pytest.mark.parametrize("content", [[], [{"type": "image", "data": "AA=="}], [{"type": "text", "text": "\n"}]])
def test_without_any_words_the_bare_json_is_shown(content: list[Any]):
    assert error_text({"isError": True, "content": content}).message.startswith('{"isError":true,"content":[')


def test_bare_json_is_cut():
    raw = {"isError": True, "content": [], "structuredContent": {"rows": ["x" * 100] * 100}}
    details = error_text(raw)

    assert len(details.message) == MAX_RAW
    assert details.cause == raw["structuredContent"]


@pytest.mark.parametrize(
    ("fields", "suffix", "code", "retriable"),
    [
        ({"code": "E_TIMEOUT", "retriable": False}, " (code=E_TIMEOUT retriable=false)", "E_TIMEOUT", False),
        ({"errorCode": 7}, " (code=7)", 7, None),
        ({"statusCode": 503, "retryable": 1}, " (code=503 retriable=true)", 503, True),
        ({"code": 0, "errorCode": 9}, " (code=0)", 0, None),
        ({"code": True, "errorCode": "x"}, " (code=x)", "x", None),
        ({"code": "", "statusCode": 4.5}, " (code=4.5)", 4.5, None),
        ({"code": {"a": 1}}, "", None, None),
        ({"retriable": "True"}, " (retriable=true)", None, True),
        ({"retriable": " no "}, " (retriable=false)", None, False),
        ({"retriable": 0.0}, " (retriable=false)", None, False),
        ({"retriable": "perhaps", "retryable": "1"}, " (retriable=true)", None, True),
        ({"retriable": None}, "", None, None),
        ({"retriable": [True]}, "", None, None),
        ({"error": {"code": "in", "retriable": True}}, " (code=in retriable=true)", "in", True),
        ({"code": "out", "error": {"code": "in", "retriable": "false"}}, " (code=out retriable=false)", "out", False),
    ],
)
def test_code_and_flag_are_found_at_the_top_before_inside(
    fields: dict[str, Any], suffix: str, code: Any, retriable: bool | None
):
    details = error_text(failed(fields, "words"))

    assert details.message == "words" + suffix
    assert (details.tool_code, details.retriable) == (code, retriable)


@pytest.mark.parametrize("content", [None, "text", {"type": "text"}, 7])
def test_content_that_is_no_list_is_a_violation(content: Any):
    with pytest.raises(ProtocolViolation, match="files/read is malformed: content"):
        outcome_of({"content": content})


@pytest.mark.parametrize("flag", [None, "true", 1, 0, []])
def test_an_error_flag_that_is_no_boolean_is_a_violation(flag: Any):
    with pytest.raises(ProtocolViolation, match="isError is not a boolean"):
        outcome_of({"content": [], "isError": flag})


@pytest.mark.parametrize("kind", ["task", "input_required", "", 7, "x" * 10_000])
def test_an_unknown_kind_of_result_is_a_violation(kind: Any):
    with pytest.raises(ProtocolViolation, match="do not know") as caught:
        outcome_of({"resultType": kind, "content": []})

    assert len(caught.value.evidence) < 200


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["message", "error", "code", "retriable", "text", "type"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(json_values, st.lists(json_values, max_size=3))
def test_whatever_a_tool_sends_with_its_error_is_told_somehow(structured: Any, content: list[Any]):
    details = error_text({"isError": True, "content": content, "structuredContent": structured})

    assert details.message
    assert details.cause is structured


def read(text: str, **fields: Any) -> ToolFailure:
    raw = {"isError": True, "content": [{"type": "text", "text": text}], **fields}
    failure = take_outcome(raw, "work", "act", Lane.OPEN, {})
    assert isinstance(failure, ToolFailure)
    return read_fatal(failure, raw)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("[FATAL] the account is closed", {}),
        ("the account is closed", {"_meta": {"dev.bascule/fatal": True}}),
        ("[FATAL] the account is closed", {"_meta": {"dev.bascule/fatal": True}}),
    ],
)
def test_either_way_ends_the_run_and_the_message_is_the_tools_own(text: str, fields: dict[str, Any]):
    failure = read(text, **fields)

    assert (failure.kind, failure.message, failure.retriable) == (FailureKind.FATAL, "the account is closed", False)
    assert failure.code == "BSC-701"


@pytest.mark.parametrize("value", [False, None, "true", 1, [], {}])
def test_anything_but_true_is_no_such_word(value: Any):
    assert read("no", _meta={"dev.bascule/fatal": value}).kind is FailureKind.TOOL_ERROR


@pytest.mark.parametrize("text", ["so FATAL", "[fatal] no", "it said [FATAL] before", "[FATAL]no"])
def test_nor_is_a_text_that_only_looks_like_it(text: str):
    assert read(text).kind is FailureKind.TOOL_ERROR


def test_a_meta_that_is_no_object_says_nothing():
    assert read("no", _meta=["dev.bascule/fatal"]).kind is FailureKind.TOOL_ERROR
