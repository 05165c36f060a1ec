"""Message framing, and lines over the limit."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.wire.framing import (
    SHOWN,
    Framer,
    LengthFramer,
    LineFramer,
    LongLines,
    TooLong,
    as_line,
    framing_of,
    with_length,
)

CAP = 64

lines = st.lists(st.binary(max_size=CAP + 8).map(lambda line: line.replace(b"\n", b"")), max_size=12)
cuts = st.lists(st.integers(min_value=0, max_value=1000), max_size=12)


def chunks(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def fed(framer: Framer, pieces: list[bytes]) -> list[bytes]:
    return [message for piece in pieces for message in framer.feed(piece)]


@given(lines, cuts, st.booleans())
def test_however_a_stream_is_cut_it_holds_the_same_messages(sent: list[bytes], places: list[int], ended: bool):
    data = b"\n".join(sent) + (b"\n" if ended else b"")
    at_once, in_pieces = LineFramer(CAP), LineFramer(CAP)

    assert fed(in_pieces, chunks(data, places)) == at_once.feed(data)
    assert bool(in_pieces.violation) == bool(at_once.violation)


@given(st.lists(st.binary(min_size=1, max_size=CAP).map(lambda line: b"{" + line[1:].replace(b"\n", b"") + b"}")), cuts)
def test_messages_come_out_as_they_went_in(sent: list[bytes], places: list[int]):
    framer = LineFramer(CAP + 1)

    assert fed(framer, chunks(b"".join(line + b"\n" for line in sent), places)) == sent
    assert framer.violation is None


def test_a_message_is_not_given_before_its_newline():
    framer = LineFramer(CAP)

    assert framer.feed(b'{"id"') == []
    assert framer.feed(b":1}\n{") == [b'{"id":1}']


def test_empty_lines_are_no_messages():
    assert LineFramer(CAP).feed(b"\n\r\n  \t\n{}\r\n\n") == [b"{}\r"]


def test_a_line_as_long_as_the_cap_passes():
    framer = LineFramer(4)

    assert framer.feed(b"1234\n12") == [b"1234"]
    assert framer.feed(b"34\n") == [b"1234"]
    assert framer.violation is None


def test_a_line_over_the_cap_ends_reading_but_not_what_came_before_it():
    framer = LineFramer(4)

    assert framer.feed(b"1234\n12345\n1\n") == [b"1234"]
    assert framer.violation is not None
    assert framer.feed(b"1\n") == []


def test_a_line_that_never_ends_is_given_up_at_the_cap_and_not_held():
    framer = LineFramer(4)

    assert fed(framer, [b"12", b"34"]) == []
    assert framer.violation is None
    assert framer.feed(b"5") == []
    assert framer.violation is not None
    assert not framer._held


def test_the_cap_counts_one_line_and_not_the_stream():
    framer = LineFramer(4)

    assert fed(framer, [b"12", b"34\n"] * 100) == [b"1234"] * 100
    assert framer.violation is None


def test_eight_mebibytes_in_small_chunks_are_one_message():
    size = 8 * 1024 * 1024
    framer = LineFramer(size)

    assert fed(framer, [b"x" * 1024] * (size // 1024)) == []
    assert [len(message) for message in framer.feed(b"\n")] == [size]


@pytest.mark.long
def test_a_line_in_tiny_pieces_is_held_in_about_its_own_size():
    framer = LineFramer(10_000_000)
    tracemalloc.start()
    try:
        for number in range(100_000):
            framer.feed(bytes((65 + number % 26, 66)))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 4 * 200_000


# Lengths


def framed(*messages: bytes, end: bytes = b"\r\n", more: bytes = b"") -> bytes:
    return b"".join(b"Content-Length: %d" % len(m) + end + more + end + m for m in messages)


@given(st.lists(st.binary(min_size=1, max_size=CAP), max_size=8), cuts, st.sampled_from([b"\r\n", b"\n"]))
def test_however_a_stream_of_lengths_is_cut_it_holds_what_went_in(sent: list[bytes], places: list[int], end: bytes):
    framer = LengthFramer(CAP)

    assert fed(framer, chunks(framed(*sent, end=end), places)) == sent
    assert framer.violation is None


def test_other_headers_and_empty_messages_are_skipped_and_case_does_not_matter():
    framer = LengthFramer(CAP)
    data = b"content-type: application/json\r\nCONTENT-LENGTH:2\r\n\r\n{}" + framed(b"", b"[]", more=b"X: y\r\n")

    assert framer.feed(data) == [b"{}", b"[]"]


def test_newlines_after_a_message_are_forgiven():
    framer = LengthFramer(CAP)

    assert framer.feed(framed(b"{}") + b"\n" + framed(b"[]") + b"\r\n\r\n" + framed(b"1")) == [b"{}", b"[]", b"1"]


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        (b"Content-Length: -5", "not a number"),
        (b"Content-Length: +5", "not a number"),
        (b"Content-Length: 0x5", "not a number"),
        (b"Content-Length: ", "not a number"),
        (b"Content-Length: 1 1", "not a number"),
        ("Content-Length: \u0665".encode(), "not a number"),
        (b"Content-Length: 2\r\nContent-Length: 2", "two Content-Length"),
        (b"Content-Type: application/json", "no Content-Length"),
        (b"Content-Length: 2\r\nlistening on port 80", "not a header"),
        (b"Content-Length: 65", "longer than 64 bytes"),
        (b"Content-Length: " + b"9" * 1000, "longer than 64 bytes"),
    ],
)
def test_headers_that_mean_nothing_or_too_much_end_reading_but_not_what_came_before(headers: bytes, says: str):
    framer = LengthFramer(CAP)

    assert framer.feed(framed(b"{}") + headers + b"\r\n\r\n{}" + framed(b"[]")) == [b"{}"]
    assert framer.violation is not None
    assert says in framer.violation.message
    assert framer.feed(framed(b"[]")) == []


@pytest.mark.parametrize("piece", [b"Content-Length-of-nothing", b"x: y\r\n"])
def test_headers_without_end_are_given_up_and_not_held(piece: bytes):
    framer = LengthFramer(8 * 1024 * 1024)
    fed(framer, [piece] * 5000)

    assert framer.violation is not None
    assert "headers" in framer.violation.message
    assert not framer._held


def test_a_length_of_leading_zeros_is_a_length():
    assert LengthFramer(CAP).feed(b"Content-Length: 0000000000000000000000002\r\n\r\n{}") == [b"{}"]


@pytest.mark.long
def test_a_message_behind_a_length_is_held_in_about_its_own_size():
    framer = LengthFramer(10_000_000)
    framer.feed(b"Content-Length: 400000\r\n\r\n")
    tracemalloc.start()
    try:
        for number in range(100_000):
            framer.feed(bytes((65 + number % 26, 66)))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 4 * 200_000


@pytest.mark.parametrize("start", [b"Content-Length: 5", b"content-length:5", b"CONTENT-TYPE: x", b"Content-Length:"])
def test_headers_show_in_the_first_bytes(start: bytes):
    assert framing_of(start) == "lengths"
    assert all(framing_of(start[:size]) is None for size in range(12))


@pytest.mark.parametrize(
    "start", [b"{", b"\n", b" Content-Length: 5", b"Contents:", b"Content-Lengthy: 5", b"[info] up"]
)
def test_anything_else_is_lines(start: bytes):
    assert framing_of(start) == "lines"


def test_what_is_framed_in_either_way_is_read_back():
    assert LineFramer(CAP).feed(as_line(b"{}")) == LengthFramer(CAP).feed(with_length(b"{}")) == [b"{}"]


def test_lines_are_cut_wherever_the_bytes_are():
    whole = b'{"a":1}\n\n  \n{"b":2}\r\nrest'
    for size in (1, 2, 5, 100):
        lines = LongLines(20)
        cut = [line for at in range(0, len(whole), size) for line in lines.feed(whole[at : at + size])]
        assert cut == [b'{"a":1}', b'{"b":2}\r']
        assert lines.feed(b"\n") == [b"rest"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_that_is_too_long_is_passed_over_and_the_next_is_read(size: int):
    lines, whole = LongLines(10), b"0123456789\n" + b"x" * 500 + b"\nok\n" + b"y" * 11 + b"\n\nend\n"
    cut = [line for at in range(0, len(whole), size) for line in lines.feed(whole[at : at + size])]
    assert cut == [b"0123456789", TooLong(), b"ok", TooLong(), b"end"]


def test_of_one_that_is_too_long_little_is_held():
    lines = LongLines(1000)
    for _ in range(100):
        lines.feed(b"x" * 100)
    assert len(lines._held) <= SHOWN


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":"%s"}', 7),
        (b'{"jsonrpc": "2.0", "id": "a-7", "method":"x","params":"%s"}', "a-7"),
        (b'{"method":"x","params":"%s","jsonrpc":"2.0","id":7}', 7),
        (b'{"method":"x","params":"%s","id":"b","jsonrpc":"2.0"}\r', "b"),
        (b'{"method":"x","params":{"a":"%s","id":7}}', None),
        (b'{"params":{"id":7,"a":"%s"},"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":7.5,"params":"%s"}', None),
        (b'{"jsonrpc":"2.0","id":null,"params":"%s"}', None),
        (b'{"params":"%s","id":"\xff"}', None),
        (b"%s", None),
    ],
)
def test_whose_it_was_is_told_where_it_can_be_nothing_else(line: bytes, found: object):
    assert LongLines(1000).feed(line % (b"x" * 2000) + b"\n") == [TooLong(found)]  # pyright: ignore[reportArgumentType]
