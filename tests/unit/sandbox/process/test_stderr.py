"""Lines as they come, safe to keep."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.sandbox.process.stderr import FLOOD, LONGEST_LINE, RING, TAIL_LINES, StderrLines, StderrRing


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


def said(*pieces: bytes, hidden: tuple[str, ...] = ()) -> str:
    ring = StderrRing(hidden)
    for piece in pieces:
        ring.feed(piece)
    return ring.tail()


def test_the_end_is_kept_and_shown():
    assert said(b"one\n", b"two\nthr", b"ee\n") == "one\ntwo\nthree"


def test_only_the_last_lines_are_shown():
    assert said(*(b"%d\n" % n for n in range(100))).split("\n") == [str(n) for n in range(100 - TAIL_LINES, 100)]


def test_fewer_lines_can_be_asked_for():
    ring = StderrRing()
    ring.feed(b"a\nb\nc\n")

    assert ring.tail(1) == "c"


@pytest.mark.parametrize("piece", [b"x" * 1000, b"x" * (RING - 1), b"x" * (5 * RING)], ids=len)
def test_however_much_comes_what_is_held_is_bounded(piece: bytes):
    ring = StderrRing()
    for _ in range(1000 if len(piece) == 1000 else 5):
        ring.feed(piece)
        assert len(ring._bytes) <= 2 * RING
    assert len(ring.tail()) <= RING


def test_all_that_came_is_counted():
    ring = StderrRing()
    ring.feed(b"x" * (3 * RING))
    ring.feed(b"y")

    assert ring.total == 3 * RING + 1


def test_secrets_are_hidden_wherever_the_chunks_were_cut():
    assert said(b"token=hunt", b"er22 ok", hidden=("hunter22",)) == "token=*** ok"


def test_a_secret_that_contains_another_leaves_nothing_of_itself():
    assert said(b"abcd-efgh", hidden=("abcd", "abcd-efgh")) == "***"


def test_a_secret_is_hidden_with_colour_in_the_middle_of_it():
    assert said(b"hunt\x1b[31mer22\x07!", hidden=("hunter22",)) == "***!"


def test_a_secret_of_several_lines_is_hidden_whatever_ends_its_lines():
    key = "-----BEGIN-----\r\nMIIabc\r\n-----END-----"

    assert said(key.encode() + b"\n" + key.replace("\r", "").encode(), hidden=(key,)) == "***\n***"


def test_a_secret_read_from_a_file_is_hidden_without_its_newline():
    assert said(b"token=hunter22.", hidden=("hunter22\n",)) == "token=***."


@pytest.mark.parametrize("over", range(1, 8))
def test_a_secret_cut_by_the_rings_own_edge_is_hidden(over: int):
    assert "22" not in said(b"hunter22" + b"x" * (RING - 8 + over), hidden=("hunter22",))


def test_a_text_too_short_to_be_a_secret_does_not_black_out_the_rest():
    assert said(b"a b c", hidden=("a", "", "b c")) == "a b c"


def test_control_sequences_do_not_reach_a_terminal():
    assert said(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x9b2J\x00tab\tback\x08") == "red 0;title\ufffd2Jtab\tback"


def test_a_progress_bar_becomes_lines():
    assert said(b"1%\r50%\r100%\r\ndone\n") == "1%\n50%\n100%\ndone"


@given(st.binary(max_size=400))
def test_whatever_comes_is_safe_to_print(data: bytes):
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 0x9F for char in said(data))
