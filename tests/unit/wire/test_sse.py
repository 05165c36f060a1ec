from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.errors import ProtocolViolation
from bascule.wire.sse import Event, EventReader

CAP = 1000


def read(*chunks: bytes) -> list[Event]:
    reader = EventReader(CAP)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    if reader.violation is not None:
        raise reader.violation
    return events


def message(data: bytes) -> Event:
    return Event("message", data)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=repr)
def test_a_line_may_end_in_three_ways(end: bytes):
    assert read(b"data: a" + end + end + b"data: b" + end + end) == [message(b"a"), message(b"b")]


def test_a_line_end_of_two_bytes_may_come_in_two_chunks():
    assert read(b"data: a\r", b"\n\r", b"\n", b"data: b\r\n\r\n") == [message(b"a"), message(b"b")]


def test_a_line_end_cut_in_two_does_not_end_the_event():
    assert read(b"data: a\r", b"\ndata: b\r\n\r\n") == [message(b"a\nb")]


def test_a_line_feed_after_a_whole_line_end_is_an_empty_line():
    assert read(b"data: a\r\n", b"\n") == [message(b"a")]


def test_an_event_that_has_not_ended_is_not_given():
    assert read(b"data: a\n") == []


def test_several_data_lines_are_one_text():
    assert read(b"data: a\ndata:b\ndata\ndata:  c\n\n") == [message(b"a\nb\n\n c")]


def test_comments_and_unknown_fields_are_ignored():
    assert read(b": a comment\n\n:\nfoo: bar\nfoo\ndata: a\n\n") == [message(b"a")]


def test_an_event_may_have_another_name_and_the_next_has_not():
    assert read(b"event: ping\ndata: a\n\ndata: b\n\n") == [Event("ping", b"a"), message(b"b")]


def test_an_event_without_data_is_none_but_its_id_counts():
    reader = EventReader(CAP)

    assert reader.feed(b"id: 7\nevent: x\n\n") == []
    assert reader.last_id == "7"


def test_an_event_with_empty_data_is_one():
    assert read(b"id: 7\ndata:\n\n") == [message(b"")]


def test_an_id_counts_only_once_its_event_has_ended():
    reader = EventReader(CAP)
    reader.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")

    assert reader.last_id == "1"


@pytest.mark.parametrize("odd", [b"", b"a\0b", b"\xc3\xa4", b"x" * 1025], ids=["empty", "nul", "not ascii", "long"])
def test_an_id_that_cannot_travel_in_a_header_makes_the_stream_not_resumable(odd: bytes):
    reader = EventReader(10_000)
    reader.feed(b"id: 1\ndata: a\n\nid: " + odd + b"\ndata: b\n\n")

    assert reader.last_id is None


def test_an_id_stays_for_events_that_bring_none():
    reader = EventReader(CAP)
    reader.feed(b"id: 1\ndata: a\n\ndata: b\n\n")

    assert reader.last_id == "1"


def test_the_wished_wait_is_told_in_seconds():
    reader = EventReader(CAP)
    reader.feed(b"retry: 1500\n\n")

    assert reader.retry == 1.5


@pytest.mark.parametrize(
    "odd", [b"", b"-1", b"1.5", b"soon", b"9" * 5000], ids=["none", "minus", "point", "word", "huge"]
)
def test_a_wished_wait_that_is_no_number_is_ignored(odd: bytes):
    reader = EventReader(10_000)
    reader.feed(b"retry: " + odd + b"\n\n")

    assert reader.retry is None


def test_a_byte_order_mark_is_dropped_at_the_start_only():
    assert read(b"\xef\xbb", b"\xbfdata: a\n\n", b"\xef\xbb\xbfdata: b\n\n") == [message(b"a")]


def test_a_message_of_exactly_the_longest_size_fits():
    assert read(b"data: " + b"x" * CAP + b"\n\n") == [message(b"x" * CAP)]


def test_a_longer_message_is_refused():
    with pytest.raises(ProtocolViolation, match="longer than 1000 bytes"):
        read(b"data: " + b"x" * (CAP + 1) + b"\n\n")


def test_a_line_without_an_end_is_refused_before_it_is_held():
    reader = EventReader(CAP)
    for _ in range(CAP):
        reader.feed(b"xx")

    assert reader.violation is not None
    assert len(reader._line) <= CAP


def test_many_short_lines_of_one_event_count_together():
    with pytest.raises(ProtocolViolation):
        read(*[b"data: xxx\n"] * CAP)


def test_events_before_one_that_is_too_large_are_given_and_none_after_it():
    reader = EventReader(CAP)
    events = reader.feed(b"data: a\n\ndata: " + b"x" * (CAP + 1) + b"\n\ndata: b\n\n")

    assert events == [message(b"a")]
    assert reader.violation is not None
    assert reader.feed(b"data: c\n\n") == []


def test_comments_without_end_are_not_held():
    reader = EventReader(CAP)
    for _ in range(CAP):
        assert reader.feed(b": are you there?\n") == []

    assert reader.feed(b"data: yes\n\n") == [message(b"yes")]


def test_a_restart_forgets_the_half_event_and_keeps_the_id():
    reader = EventReader(CAP)
    reader.feed(b"retry: 10\nid: 1\ndata: a\n\nid: 2\nevent: x\ndata: b\nda")
    reader.restart()

    assert reader.feed(b"data: c\n\n") == [message(b"c")]
    assert (reader.last_id, reader.retry) == ("1", 0.01)


@pytest.mark.long
def test_a_large_event_dripped_byte_by_byte_is_read_in_linear_time():
    reader = EventReader(1_000_000)
    drips = b"data: " + b"x" * 500_000 + b"\n\n"

    assert [e for i in range(len(drips)) for e in reader.feed(drips[i : i + 1])] == [message(b"x" * 500_000)]


_PIECES = st.sampled_from(
    [
        b"data: a",
        b"data",
        b"data:  ",
        b"id: 3",
        b"id",
        b"event: e",
        b"retry: 5",
        b": c",
        b"\r",
        b"\n",
        b"\r\n",
        b"x",
        b"\xef\xbb\xbf",
    ]
)


@given(st.lists(_PIECES, max_size=40).map(b"".join), st.lists(st.integers(0, 200), max_size=12))
def test_however_the_bytes_are_cut_the_events_are_the_same(stream: bytes, cuts: list[int]):
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})

    assert read(*(stream[a:b] for a, b in pairwise(edges))) == read(stream)


def test_an_empty_line_forgets_the_name_of_an_event_without_data():
    reader = EventReader(1000)

    assert reader.feed(b"event: odd\n\n\n\ndata: x\n\n") == [Event("message", b"x")]


def test_an_empty_id_is_forgotten_at_the_end_of_its_event():
    reader = EventReader(1000)
    reader.feed(b"id: 7\ndata: x\n\n")
    assert reader.last_id == "7"
    reader.feed(b"id\n\n")

    assert reader.last_id is None
