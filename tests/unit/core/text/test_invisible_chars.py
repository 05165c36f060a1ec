"""Characters that hide."""

import json
import sys
import unicodedata

import pytest

from bascule.core.text.invisible_chars import HIDDEN, ORDINARY, escaped, escaped_json

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.mark.parametrize("category", ["Cc", "Cf", "Co", "Cs", "Zl", "Zp"])
def test_all_of_a_category_without_a_look_hides(category: str):
    seen = [c for c in EVERY if unicodedata.category(c) == category and not HIDDEN.match(c)]

    assert seen == (["\t", "\n", "\r"] if category == "Cc" else [])


@pytest.mark.long
def test_what_its_name_says_cannot_be_seen_hides():
    words = ("VARIATION SELECTOR", "ZERO WIDTH", "INVISIBLE", "HANGUL FILLER", "SEONG FILLER", "BRAILLE PATTERN BLANK")
    named = [c for c in EVERY if any(word in unicodedata.name(c, "") for word in words)]

    assert len(named) > 260
    assert [unicodedata.name(c) for c in named if not HIDDEN.match(c)] == []


def test_noncharacters_and_unassigned_ignorable_ones_hide():
    plane_ends = [plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)]
    for code in [*plane_ends, *range(0xFDD0, 0xFDF0), 0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)]:
        assert HIDDEN.match(chr(code)), hex(code)


@pytest.mark.parametrize(
    "text", ["plain ASCII ~!", "täglich", "日本語 한국어", "عربي עברית", "русский", "→ ✓ …", "\u00a0\t\r\n"]
)
def test_what_people_write_does_not_hide(text: str):
    assert not HIDDEN.search(text)
    assert escaped(text) == text


@pytest.mark.parametrize(
    "text", ["⚠\ufe0f", "1\ufe0f\u20e3", "👩\u200d💻", "❤\ufe0f\u200d🔥", "👍🏽\u200d🔥", "✔\ufe0e"]
)
def test_a_selector_or_joiner_in_a_picture_is_ordinary(text: str):
    assert not HIDDEN.search(ORDINARY.sub("", text))
    assert escaped(text) == text


@pytest.mark.parametrize(
    "text", ["a\ufe0f", "1\ufe0f", "a\u200db", "😀\ufe0f\ufe0f", "😀\U000e0100", "😀\u200da", "🏴\U000e0067\U000e007f"]
)
def test_the_same_characters_elsewhere_hide(text: str):
    assert HIDDEN.search(ORDINARY.sub("", text))


def test_escapes_are_written_out_in_the_shortest_usual_form():
    assert escaped("a\x1b[2J\x9b \u202e \U000e0041") == r"a\x1b[2J\x9b \u202e \U000e0041"


def test_escaped_json_is_ascii_where_it_hid_and_means_the_same():
    value = {"k\u200b": ["\x7f", "\U000e0041", "\ue000", "é", "\ud800"]}
    text = escaped_json(json.dumps(value, ensure_ascii=False))

    assert not HIDDEN.search(text)
    assert "é" in text
    assert json.loads(text) == value
