"""The two outputs of a process in a container, taken apart wherever the stream was cut."""

import itertools
import random

import pytest

from bascule.wire.docker_stream import MAX_FRAME, STDERR, STDOUT, DockerStream, Output


def frame(output: int, data: bytes) -> bytes:
    return bytes((output, 0, 0, 0)) + len(data).to_bytes(4) + data


def joined(pieces: list[tuple[Output, bytes]]) -> list[tuple[Output, bytes]]:
    """Pieces of one output that follow each other, as one."""
    whole: list[tuple[Output, bytes]] = []
    for output, data in pieces:
        before = whole.pop()[1] if whole and whole[-1][0] == output else b""
        whole.append((output, before + data))
    return whole


def test_each_output_gets_what_is_its_own_in_order():
    stream = DockerStream()
    data = frame(STDOUT, b"one") + frame(STDERR, b"two") + frame(STDOUT, b"") + frame(STDOUT, b"three")

    assert stream.feed(data) == [(STDOUT, b"one"), (STDERR, b"two"), (STDOUT, b"three")]
    assert stream.violation is None


@pytest.mark.parametrize("size", range(1, 30))
def test_a_stream_may_be_cut_anywhere(size: int):
    stream = DockerStream()
    data = (
        frame(STDOUT, b"a long answer")
        + frame(STDERR, b"x")
        + frame(STDERR, b"")
        + frame(STDOUT, b"\x01\0\0\0\0\0\0\1")
    )
    pieces = [piece for at in range(0, len(data), size) for piece in stream.feed(data[at : at + size])]

    assert joined(pieces) == [(STDOUT, b"a long answer"), (STDERR, b"x"), (STDOUT, b"\x01\0\0\0\0\0\0\1")]


def test_any_frames_cut_in_any_way_come_out_as_they_went_in():
    dice = random.Random(7)
    for _ in range(200):
        sent: list[tuple[Output, bytes]] = [
            (dice.choice((STDOUT, STDERR)), dice.randbytes(dice.randrange(1, 40))) for _ in range(20)
        ]
        data = b"".join(frame(*each) for each in sent)
        cuts = [0, *sorted(dice.randrange(len(data)) for _ in range(30)), len(data)]
        stream = DockerStream()
        pieces = [piece for start, end in itertools.pairwise(cuts) for piece in stream.feed(data[start:end])]

        assert joined(pieces) == joined(sent)


def test_a_frame_is_given_as_it_comes_and_never_held():
    stream = DockerStream()
    stream.feed(frame(STDOUT, b"x" * MAX_FRAME)[:8])

    assert stream.feed(b"x" * 10) == [(STDOUT, b"x" * 10)]


@pytest.mark.parametrize(
    "head",
    [
        bytes((0, 0, 0, 0, 0, 0, 0, 1)),
        bytes((3, 0, 0, 0, 0, 0, 0, 1)),
        bytes((1, 0, 7, 0, 0, 0, 0, 1)),
        b'{"jsonrp',
        bytes((1, 0, 0, 0)) + (MAX_FRAME + 1).to_bytes(4),
    ],
    ids=["stdin", "unknown", "not zero", "text", "too long"],
)
def test_what_is_no_header_ends_the_stream_after_what_came_before(head: bytes):
    stream = DockerStream()

    assert stream.feed(frame(STDOUT, b"fine") + head + b"never") == [(STDOUT, b"fine")]
    assert stream.violation is not None
    assert head.hex(" ") in stream.violation.evidence
    assert stream.feed(frame(STDOUT, b"more")) == []


def test_many_small_frames_in_one_piece_are_each_looked_at_once():
    class Counting(bytes):
        """Counts what is copied out of it."""

        copied = 0

        def __getitem__(self, key: object) -> bytes:  # type: ignore[override]
            piece = super().__getitem__(key)  # type: ignore[call-overload, index]
            Counting.copied += len(piece)
            return piece

    data = Counting(frame(STDOUT, b"x") * 50_000)

    assert len(DockerStream().feed(data)) == 50_000
    assert Counting.copied == len(data)
