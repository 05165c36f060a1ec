"""What a function gives back or raises, as a server's reply."""

import datetime as dt
import enum
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from bascule.core.errors import ConnectFailed, Refused, UsageError, WorkspaceError
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.kit.errors import ToolFatalError, ToolRetryError
from bascule.transports.inprocess.python_result import failure_reply, is_meant, reply_of, unfitting
from bascule.transports.inprocess.python_types import Media
from bascule.wire.results import FATAL_KEY


@dataclass
class Point:
    x: int


class Model(BaseModel):
    when: dt.date


class Colour(enum.Enum):
    RED = "red"


def words(reply: dict[str, Any]) -> list[str]:
    return [block["text"] for block in reply["content"]]


@pytest.mark.parametrize(
    ("value", "text"), [("hi", "hi"), ("", ""), (3, "3"), (1.5, "1.5"), (True, "true"), (Colour.RED, "red")]
)
def test_texts_and_numbers_are_text(value: Any, text: str):
    assert reply_of(value) == {"content": [{"type": "text", "text": text}]}


def test_nothing_is_nothing():
    assert reply_of(None) == {"content": []}


@pytest.mark.parametrize(
    ("value", "structured"),
    [
        ({"a": 1}, {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (Point(1), {"x": 1}),
        (Model(when=dt.date(2026, 1, 2)), {"when": "2026-01-02"}),
        ([Point(1)], {"result": [{"x": 1}]}),
        ((1, 2), {"result": [1, 2]}),
        ({3}, {"result": [3]}),
        ([], {"result": []}),
        ({"models": [Model(when=dt.date(2026, 1, 2))]}, {"models": [{"when": "2026-01-02"}]}),
    ],
)
def test_all_else_is_structured_and_told_in_words_too(value: Any, structured: Any):
    reply = reply_of(value)
    assert reply["structuredContent"] == structured
    assert msgspec.json.decode(words(reply)[0]) == (structured.get("result", structured))


def test_what_it_goes_on_doing_with_it_changes_nothing():
    value = {"items": [1]}
    reply = reply_of(value)
    value["items"].append(2)
    assert reply["structuredContent"] == {"items": [1]}


@pytest.mark.parametrize("value", [b"x", bytearray(b"x"), object(), {"a": object()}, lambda: None])
def test_what_json_cannot_say_is_a_mistake(value: Any):
    with pytest.raises(TypeError):
        reply_of(value)


def test_media_is_content_of_its_kind():
    given = ["look:", Media(b"a", "image/png"), Media(b"b", "audio/wav"), Media(b"c", "text/csv", "t.csv"), {"a": 1}]
    assert reply_of(given)["content"] == [
        {"type": "text", "text": "look:"},
        {"type": "image", "data": "YQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "Yg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "native:///t.csv", "mimeType": "text/csv", "blob": "Yw=="}},
        {"type": "text", "text": '{"a":1}'},
    ]
    assert reply_of(Media(b"a", "image/png"))["content"][0]["type"] == "image"


def test_the_outcome_of_another_call_is_passed_on():
    raw = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}, "_meta": {FATAL_KEY: True}}
    assert reply_of(ToolResult(raw, "s", "t", Lane.OPEN, {})) == {
        "content": raw["content"],
        "structuredContent": {"a": 1},
    }
    refused = reply_of(ToolFailure(FailureKind.DENIED, "BSC-301", "no", retriable=False))
    assert (refused["isError"], refused["structuredContent"]) == (
        True,
        {"message": "no", "code": "BSC-301", "retriable": False},
    )
    assert reply_of(ToolFailure(FailureKind.FATAL, "BSC-701", "stop"))["_meta"] == {FATAL_KEY: True}


@pytest.mark.parametrize(
    ("error", "structured"),
    [
        (ToolRetryError("again", code=7), {"message": "again", "code": 7, "retriable": True}),
        (ToolFatalError("stop"), {"message": "[FATAL] stop"}),
        (UsageError("wrong", fix="do right"), {"message": "wrong; do right", "retriable": True}),
        (WorkspaceError("no such file"), {"message": "no such file", "retriable": True}),
        (Refused("not you", rule="r"), {"message": "not you", "retriable": False}),
    ],
)
def test_what_is_meant_to_be_said_is_said(error: Exception, structured: dict[str, Any]):
    reply = failure_reply("act", error)
    told = reply["structuredContent"]
    assert {name: told[name] for name in structured} == structured
    assert (reply["isError"], words(reply), is_meant(error)) == (True, [told["message"]], True)


@pytest.mark.parametrize("error", [ValueError("/home/alice/key"), ConnectFailed("/home/alice"), OSError("/home")])
def test_of_a_mistake_only_its_kind_is_told(error: Exception):
    reply = failure_reply("act", error)
    assert words(reply) == [f"act failed: {type(error).__name__}"]
    assert "home" not in repr(reply)
    assert not is_meant(error)


def test_arguments_that_do_not_fit_can_be_mended():
    reply = unfitting(msgspec.ValidationError("Expected `int` - at `$.a`"))
    assert reply["isError"]
    assert reply["structuredContent"]["retriable"] is True
    assert "$.a" in words(reply)[0]
