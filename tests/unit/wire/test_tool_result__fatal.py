"""An error that ends the run, as a result says it."""

from typing import Any

import pytest

from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import Lane
from bascule.wire.tool_result import read_fatal, take_outcome


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
