"""Outcomes: results and failures as values."""

from typing import Any

import pytest

from bascule.core.outcome import FailureKind, PromptResult, ResourceResult, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane


def result(raw: dict[str, Any]) -> ToolResult:
    return ToolResult(raw, "files", "read", Lane.OPEN, {"send": 0.1})


def test_a_result_keeps_the_reply_it_was_read_from():
    raw: dict[str, Any] = {"content": [], "structuredContent": {"a": 1}}

    assert result(raw).raw is raw
    assert result(raw).structured is raw["structuredContent"]
    assert result(raw).ok


def test_text_is_rendered_once():
    outcome = result({"content": [{"type": "text", "text": "hello"}]})

    assert outcome.text == "hello"
    assert outcome.text is outcome.text


def test_content_blocks_are_the_types_of_the_sdk():
    from mcp_types import TextContent

    (block,) = result({"content": [{"type": "text", "text": "hello"}]}).content

    assert isinstance(block, TextContent)
    assert block.text == "hello"


def test_a_result_without_content_has_no_blocks():
    assert result({}).content == []
    assert result({}).text == ""


def test_a_failure_says_no_more_than_it_was_told():
    failure = ToolFailure(FailureKind.TIMEOUT, "BSC-403", "too slow")

    assert not failure.ok
    assert (failure.retriable, failure.tool_code, failure.cause) == (None, None, None)


@pytest.mark.parametrize("outcome", [result({}), ToolFailure(FailureKind.DENIED, "BSC-300", "no")])
def test_an_outcome_cannot_be_changed(outcome: ToolResult | ToolFailure):
    with pytest.raises(AttributeError):
        outcome.server = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_the_kinds_of_failure_are_a_closed_set():
    assert {kind.value for kind in FailureKind} == {
        "connection_error",
        "timeout",
        "aborted",
        "denied",
        "invalid_arguments",
        "unknown_tool",
        "tool_error",
        "fatal",
        "protocol_error",
        "unavailable",
    }


def test_a_resource_shows_its_texts_and_names_what_cannot_be_read():
    contents = [{"uri": "a://1", "text": "one"}, {"uri": "a://2", "blob": "AAAA"}]
    outcome = ResourceResult({"contents": contents}, "files", "a://1", Lane.OPEN, {})

    assert outcome.ok
    assert outcome.contents is contents
    assert outcome.text == "one\n[resource a://2]"


def test_a_prompt_shows_who_says_what():
    messages = [
        {"role": "user", "content": {"type": "text", "text": "Hi."}},
        {"role": "assistant", "content": {"type": "image", "mimeType": "image/png", "data": "AAAA"}},
    ]
    outcome = PromptResult({"messages": messages, "description": 7}, "files", "greet", Lane.OPEN, {})

    assert outcome.ok
    assert outcome.text == "user: Hi.\n\nassistant: [image image/png, 3 bytes]"
    assert outcome.description == ""
