"""Lines as they come, safe to keep."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.sandbox.process.stderr import FLOOD, LONGEST_LINE, StderrLines


class Lines(list[str]):
    """What was told of what came. Time stands still unless it is moved."""

    def __init__(self, hidden: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.now = 0.0
        self.lines = StderrLines(hidden, lambda: self.now)

    def feed(self, *pieces: bytes) -> "Lines":
        for piece in pieces:
            self += self.lines.feed(piece)
        return self

    def end(self) -> "Lines":
        self += self.lines.end()
        return self


def test_a_line_is_told_when_it_is_whole():
    lines = Lines().feed(b"one\ntw")
    assert lines == ["one"]

    lines.feed(b"o\nthree")
    assert lines == ["one", "two"]
    assert lines.end() == ["one", "two", "three"]
    assert lines.end() == ["one", "two", "three"]


def test_empty_lines_and_control_sequences_are_left_out():
    assert Lines().feed(b"\n  \n\x1b[31mred\x1b[0m\x07\r\n10%\r20%\r\n") == ["red", "10%", "20%"]


def test_what_is_no_utf_8_is_told_as_well_as_can_be():
    assert Lines().feed(b"a\xffb\n") == ["a\ufffdb"]


@given(st.lists(st.integers(0, 40), max_size=4))
def test_a_secret_is_hidden_wherever_the_pieces_were_cut(cuts: list[int]):
    said = b"before hunt\x1b[1mer-22 after\nnext\n"
    edges = [0, *sorted(cuts), len(said)]
    pieces = [said[start:end] for start, end in pairwise(edges)]

    assert Lines(("hunter-22",)).feed(*pieces) == ["before *** after", "next"]


def test_a_secret_of_several_lines_is_hidden_line_by_line():
    key = "-----BEGIN KEY-----\nMIIabcdefgh\n-----END KEY-----"

    assert Lines((key,)).feed(b"it is:\n", key.encode(), b"\ndone\n") == ["it is:", "***", "***", "***", "done"]


def test_a_line_that_never_ends_is_cut_and_the_next_one_is_whole():
    lines = Lines().feed(b"x" * (LONGEST_LINE + 1), b"y" * 100_000, b"z\nnext\n")

    assert lines == ["x" * LONGEST_LINE + " …", "next"]


@pytest.mark.parametrize("shift", range(-9, 10, 3))
def test_a_cut_through_a_secret_leaves_nothing_of_it(shift: int):
    before = b"x" * (LONGEST_LINE - 5 + shift)
    (told,) = Lines(("hunter-22",)).feed(before + b"hunter-22" + b"y" * 100 + b"\n")

    assert "hunt" not in told
    assert told.startswith("xxx")


def test_a_flood_is_left_out_and_counted():
    chunk = b"0123456789\n" * 1000
    lines = Lines()
    fed = 0
    while fed <= 2 * FLOOD:
        lines.feed(chunk)
        fed += len(chunk)

    assert len(lines) <= FLOOD / 11
    told = len(lines)
    lines.now = 1.0
    lines.feed(b"the end of a line\nafter\n")
    assert lines[told:] == [f"… {fed - told * 11} bytes left out: the server writes more than can be kept", "after"]


@pytest.mark.long
def test_one_piece_is_never_too_much():
    assert len(Lines().feed(b"line\n" * FLOOD)) == FLOOD


def test_what_was_left_out_is_told_at_the_end_too():
    lines = Lines().feed(b"x\n" * 10, b"y" * FLOOD).end()

    assert lines[-1] == f"… {FLOOD} bytes left out: the server writes more than can be kept"
