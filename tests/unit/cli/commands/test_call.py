"""Arguments from words, outcomes to shapes."""

import re
from typing import Any

import pytest

from bascule.cli.commands.call import Word, as_shape, read_pairs, typed
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane

RESULT = ToolResult({"content": [{"type": "text", "text": "hi"}]}, "files", "read", Lane.OPEN, {"send": 0.5})


def test_words_and_json_are_told_apart():
    assert read_pairs(["a=x=y", "b:=[1]", "c="], None) == {"a": "x=y", "b": [1], "c": ""}


def test_a_whole_object_comes_first_and_pairs_override_it():
    assert read_pairs(["a=2"], '{"a": 1, "b": 1}') == {"a": "2", "b": 1}


@pytest.mark.parametrize(("pairs", "whole"), [(["a"], None), (["=1"], None), (["a:=x"], None), ([], "[1]"), ([], "{")])
def test_what_cannot_be_read_is_a_usage_error_with_a_fix(pairs: list[str], whole: str | None):
    with pytest.raises(UsageError) as caught:
        read_pairs(pairs, whole)
    assert caught.value.fix
    # What is told to be written is read.
    shown = re.findall(r"'(\{.*\})'", caught.value.fix)
    assert all(read_pairs([], text) for text in shown)
    assert bool(shown) == (whole is not None)


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("3", "integer", 3),
        ("true", "boolean", True),
        ("[1]", "array", [1]),
        ("3", "string", "3"),
        ("three", "integer", "three"),
        ("3", ["integer", "null"], 3),
        ("3", ["string", "integer"], "3"),
        ("3", None, "3"),
    ],
)
def test_a_word_becomes_what_the_schema_wants_where_it_reads_as_that(word: str, kind: Any, value: Any):
    schema = {"properties": {"x": {"type": kind} if kind else {}}}
    assert typed({"x": Word(word)}, schema) == {"x": value}


def test_what_was_given_as_json_is_left_alone():
    assert typed({"x": "3"}, {"properties": {"x": {"type": "integer"}}}) == {"x": "3"}


def test_a_result_has_its_documented_shape():
    assert as_shape(RESULT) == {
        "ok": True,
        "text": "hi",
        "structured": None,
        "server": "files",
        "tool": "read",
        "lane": "open",
        "ms": 500.0,
        "steps": {"send": 500.0},
    }


def test_a_failure_has_its_documented_shape():
    failure = ToolFailure(FailureKind.DENIED, "BSC-300", "no", fix="ask")
    assert as_shape(failure) == {
        "ok": False,
        "kind": "denied",
        "code": "BSC-300",
        "message": "no",
        "tool_code": None,
        "retriable": None,
        "fix": "ask",
    }


def test_a_call_takes_a_tool_and_its_arguments():
    options = build_parser().parse_args(["call", "files_read", "path=/a", "limit:=3", "--timeout", "5"])
    assert (options.command, options.tool) == ("call", "files_read")
    assert options.arguments == ["path=/a", "limit:=3"]
    assert options.timeout == 5


def test_arguments_may_be_one_object():
    options = build_parser().parse_args(["call", "x", "--arguments", "{}"])
    assert (options.object, options.arguments) == ("{}", [])


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1", "soon"])
def test_a_limit_that_never_ends_or_never_begins_is_refused(limit: str):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["call", "x", "--timeout", limit])
    assert caught.value.code == 2
