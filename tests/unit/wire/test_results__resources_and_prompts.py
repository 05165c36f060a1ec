"""Results of requests that are no tool calls, read as outcomes."""

from collections.abc import Callable
from typing import Any

import pytest

from bascule.core.errors import ProtocolViolation
from bascule.core.sensitivity import Lane
from bascule.wire.results import MAX_VALUES, take_completion, take_contents, take_messages, take_page

STEPS = {"send": 0.1}


def taken(take: Callable[..., Any], raw: dict[str, Any]) -> Any:
    return take(raw, "files", "subject", Lane.OPEN, STEPS)


def test_contents_are_kept_as_they_came():
    raw = {"contents": [{"uri": "a://1", "text": "one"}], "resultType": "complete"}
    outcome = taken(take_contents, raw)

    assert outcome.raw is raw
    assert (outcome.server, outcome.uri, outcome.lane, outcome.steps) == ("files", "subject", Lane.OPEN, STEPS)


def test_messages_are_kept_as_they_came():
    raw = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi."}}]}
    outcome = taken(take_messages, raw)

    assert outcome.messages is raw["messages"]
    assert (outcome.server, outcome.prompt) == ("files", "subject")


def test_completions_are_texts_with_how_many_there_are():
    outcome = taken(take_completion, {"completion": {"values": ["a", "b"], "total": 7, "hasMore": True}})

    assert (outcome.values, outcome.total, outcome.has_more) == (("a", "b"), 7, True)


def test_more_completions_than_allowed_are_left_out_and_said_to_be_there():
    outcome = taken(take_completion, {"completion": {"values": ["x"] * (MAX_VALUES + 1), "total": "many"}})

    assert (len(outcome.values), outcome.total, outcome.has_more) == (MAX_VALUES, None, True)


def test_a_page_is_what_it_is():
    raw = {"prompts": "nonsense"}
    assert taken(take_page, raw).raw is raw


@pytest.mark.parametrize(
    ("take", "raw"),
    [
        (take_contents, {}),
        (take_contents, {"contents": {"uri": "a://1"}}),
        (take_contents, {"contents": ["text"]}),
        (take_messages, {"messages": None}),
        (take_messages, {"messages": [7]}),
        (take_completion, {"completion": []}),
        (take_completion, {"completion": {"values": [1]}}),
    ],
)
def test_what_has_another_shape_is_a_violation(take: Callable[..., Any], raw: dict[str, Any]):
    with pytest.raises(ProtocolViolation, match="the result of files/subject is malformed"):
        taken(take, raw)


@pytest.mark.parametrize("take", [take_contents, take_messages, take_completion, take_page])
@pytest.mark.parametrize("kind", ["task", "input_required", 7])
def test_another_kind_of_result_is_a_violation(take: Callable[..., Any], kind: Any):
    with pytest.raises(ProtocolViolation, match="a kind of result we do not know"):
        taken(take, {"resultType": kind, "contents": [], "messages": [], "completion": {"values": []}})
