"""What is kept of a request: shapes, and the words of rules alone."""

from typing import Any

import msgspec
import pytest

from bascule.core.events import RequestEnded, ToolInvoked
from bascule.core.outcome import FailureKind, ResourceResult, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.records.feed.calls import note_of, shapes_of
from support.links import ALICE


def invoked(outcome: Any, **more: Any) -> ToolInvoked:
    return ToolInvoked("work_act", "work", ALICE, Lane.OPEN, outcome, {"n": "number"}, {"send": 0.1}, 7.0, **more)


def test_a_result_is_kept_by_its_shape():
    note = note_of(invoked(ToolResult({"content": [{"type": "text", "text": "abc"}]}, "work", "act", Lane.OPEN, {})), 3)
    assert (note.seq, note.outcome, note.details.result, note.failed, note.method) == (
        3,
        "ok",
        ("text[3]",),
        False,
        "tools/call",
    )


@pytest.mark.parametrize(("rule", "message"), [("data_stays_in", "no"), ("", "")])
def test_only_a_rule_is_quoted(rule: str, message: str):
    note = note_of(invoked(ToolFailure(FailureKind.DENIED, "BSC-300", "no", fix="ask"), rule=rule), 1)
    assert (note.failed, note.outcome, note.code, note.message) == (True, "denied", "BSC-300", message)


def test_another_request_has_its_method():
    result = ResourceResult({"contents": [{"uri": "x", "blob": "aaaa"}]}, "work", "x:y", Lane.OPEN, {})
    event = RequestEnded("resources/read", "x:y", "work", ALICE, Lane.OPEN, result, {}, {}, 7.0)
    note = note_of(event, 1)
    assert (note.method, note.name, note.details.result) == ("resources/read", "x:y", ("block[4]",))


def test_shapes_are_bounded_and_nothing_of_the_server_is_repeated():
    blocks: list[Any] = [
        {"type": "canary"},
        "canary",
        {"type": "image", "data": "aa"},
        *[{"type": "text", "text": ""}] * 9,
    ]
    found = [*shapes_of({"content": blocks, "structuredContent": {"canary": 1}})]
    assert found[:4] == ["block", "value", "image[2]", "text[0]"]
    assert found[-2:] == ["… 4 more", "structured: object[1]"]
    assert [*shapes_of({"structuredContent": [1]})] == ["structured: array[1]"]
    assert [*shapes_of({"structuredContent": 1})] == ["structured: int"]


def test_an_argument_whose_name_is_no_text_is_kept_all_the_same():
    event = invoked(ToolResult({"content": []}, "work", "act", Lane.OPEN, {}))
    note = note_of(msgspec.structs.replace(event, arguments={"\ud800": "number", "n": "null"}), 1)
    assert note.details.arguments == {"?": "number", "n": "null"}
    assert note.details.steps == {"send": 0.1}
