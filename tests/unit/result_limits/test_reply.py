"""Whole replies."""

import json
from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.reply import Shortened, shorten

PRESET = Preset(characters=1000)
ROWS = [{"id": n} for n in range(500)]


def shortened(texts: list[str], structured: Any) -> tuple[Shortened, dict[str, bytes]]:
    saved: dict[str, bytes] = {}
    found = shorten(texts, structured, PRESET, saved.__setitem__)
    assert found is not None
    assert len(found.text) <= 1000
    assert [each["path"] for each in found.meta] == list(saved)[::-1]
    return found, saved


@pytest.mark.parametrize(
    ("texts", "structured"),
    [([], None), (["a", "b"], None), ([], {"a": 1}), (["x" * 900], {"a": "y" * 900}), (['{"a":1}'], {"a": 1})],
)
def test_what_is_short_enough_is_left_as_it_is(texts: list[str], structured: Any):
    assert shorten(texts, structured, PRESET, None) is None


def test_texts_count_together_and_are_saved_as_one():
    _, saved = shortened(["a" * 600, "b" * 600], None)
    assert list(saved.values()) == [b"a" * 600 + b"\n" + b"b" * 600]


@pytest.mark.parametrize(
    ("text", "structured", "whole"),
    [
        (json.dumps({"rows": ROWS}), {"rows": ROWS}, {"rows": ROWS}),
        (json.dumps(ROWS), {"result": ROWS}, ROWS),
        (json.dumps({"result": ROWS}), {"result": ROWS}, {"result": ROWS}),
        ("", {"rows": ROWS}, {"rows": ROWS}),
    ],
)
def test_what_is_said_twice_is_saved_once(text: str, structured: Any, whole: Any):
    found, saved = shortened([text] if text else [], structured)
    (data,) = saved.values()
    assert json.loads(data) == whole
    assert "500 rows" in found.text or "1 key" in found.text


def test_a_text_that_was_wrapped_is_saved_as_the_text():
    _, saved = shortened(["word " * 500], {"result": "word " * 500})
    assert list(saved.values()) == [b"word " * 500]


def test_a_short_text_that_says_something_else_stays():
    found, saved = shortened(["500 rows were found"], {"rows": ROWS})
    assert found.text.endswith("\n\n500 rows were found")
    assert len(saved) == 1


def test_two_long_ones_are_both_saved():
    found, saved = shortened(["# Report\n" * 300], {"rows": ROWS})
    assert sorted(path.rpartition(".")[2] for path in saved) == ["json", "txt"]
    assert all(path in found.text for path in saved)


def test_a_long_text_beside_short_structured_content_is_saved():
    found, saved = shortened(["# Report\n" * 300], {"rows": 3})
    assert list(saved.values()) == [b"# Report\n" * 300]
    assert found.text.startswith('{"rows":3}')
