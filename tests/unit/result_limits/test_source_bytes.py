"""A whole result, looked at from both ends."""

import pytest

from bascule.result_limits.source_bytes import Whole, clip


@pytest.mark.parametrize(("text", "lines"), [("", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\nb\n", 3), ("\n\n", 2)])
def test_lines_are_counted_and_found_from_both_ends(text: str, lines: int):
    whole = Whole.of_text(text)
    expected = text.removesuffix("\n").split("\n")
    assert whole.lines == lines == len(expected)
    assert [text[slice(*span)] for span in whole.head_lines(99)] == expected
    assert [text[slice(*span)] for span in whole.tail_lines(99)] == expected[::-1]
    assert [text[slice(*span)] for span in whole.head_lines(1)] == expected[:1]
    assert [text[slice(*span)] for span in whole.tail_lines(1)] == expected[-1:]
    assert not list(whole.head_lines(0))


def test_no_line_begins_before_the_place_that_is_given():
    whole = Whole.of_text("ab\ncd\nef")
    assert [*whole.tail_lines(9, 3)] == [(6, 8), (3, 5)]
    assert [*whole.head_lines(9, 3)] == [(3, 5), (6, 8)]


def test_bytes_count_as_text_only_if_they_are():
    assert Whole.of_bytes("é👩".encode() * 400_000).characters == 800_000
    assert not Whole.of_bytes("é".encode() + b"\xc3").is_text
    assert not Whole.of_text("\ud800").is_text
    assert Whole.of_value({"a": "é"}) == Whole('{"a":"é"}'.encode(), 9, is_text=True)


@pytest.mark.parametrize("room", [1, 7, 8, 20, 21])
def test_what_is_shown_has_its_beginning_and_its_end_and_no_half_characters(room: int):
    text = "é" * 5 + "👩" * 500 + "ü" * 5
    shown = Whole.of_text(text).shown((0, len(text.encode())))(room)
    assert len(shown) == room
    assert shown.startswith("é")
    assert set(shown) <= set("é👩ü …")
    assert "\\x" not in shown


def test_what_is_no_text_is_escaped():
    whole = Whole.of_bytes(b"a\xff\x00\x1b[31m\r")
    assert whole.shown((0, len(whole.data)))(99) == "a\\xff\\x00\\x1b[31m"


def test_clipping_keeps_what_fits():
    assert clip("abc", 3) == "abc"
    assert clip("a" * 50 + "z", 12) == "aaaaaa … aaz"
