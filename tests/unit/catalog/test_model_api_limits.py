"""What the model APIs refuse."""

from typing import Any

import pytest

from bascule.catalog.model_api_limits import ANTHROPIC, GEMINI, OPENAI, refusals
from bascule.core.tool import ToolKey, ToolSpec


def refusing(schema: dict[str, Any], name: str = "notes_find") -> set[str]:
    return {api for api, _ in refusals(ToolSpec(name, ToolKey("notes", "find"), "d", input_schema=schema))}


@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_a_union_at_the_top_is_refused_and_below_it_is_not(word: str):
    assert refusing({"type": "object", word: [{}]}) == {OPENAI, ANTHROPIC}
    assert refusing({"type": "object", "properties": {"a": {word: [{}]}}}) == set()


@pytest.mark.parametrize(
    ("schema", "who"),
    [
        ({"type": "object", "not": {}}, {OPENAI}),
        ({"type": "array", "items": {}}, {OPENAI, ANTHROPIC, GEMINI}),
        ({"type": "object", "properties": {"a b": {}}}, {ANTHROPIC}),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, {OPENAI, GEMINI}),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, set()),
        ({}, set()),
    ],
)
def test_each_rule(schema: dict[str, Any], who: set[str]):
    assert refusing(schema) == who


def test_a_name_that_begins_with_a_digit_is_refused_by_one():
    assert refusing({}, "3d_find") == {GEMINI}
