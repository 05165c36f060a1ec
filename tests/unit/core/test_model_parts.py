from typing import Any

import pytest

from bascule.core.model_parts import Picture, parts
from bascule.core.outcome import ToolResult
from bascule.core.sensitivity import Lane

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
PICTURE = Picture("aGk=", "image/png")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(*content: Any, **raw: Any) -> ToolResult:
    return ToolResult({"content": [*content], **raw}, "work", "act", Lane.OPEN, {})


def test_words_alone_are_one_text():
    assert parts(result(text("one"), text("two"))) == ("one\ntwo",)


def test_nothing_is_an_empty_text():
    assert parts(result()) == ("",)


def test_pictures_stand_where_they_stood_among_the_words():
    link = {"type": "resource_link", "uri": "file:///a"}

    assert parts(result(text("see"), IMAGE, link)) == ("see", PICTURE, "[link file:///a]")


def test_pictures_come_after_structured_content_which_stands_for_all_words():
    assert parts(result(text("{}"), IMAGE, structuredContent={"rows": 1})) == ("rows: 1", PICTURE)


@pytest.mark.parametrize(
    "broken", [{"type": "image"}, {**IMAGE, "data": 1}, {**IMAGE, "mimeType": None}, "image"], ids=str
)
def test_a_picture_that_is_none_is_named_in_words(broken: Any):
    (words,) = parts(result(broken))

    assert isinstance(words, str)
    assert "image" in words
