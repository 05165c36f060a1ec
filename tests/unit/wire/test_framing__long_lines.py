"""Lines, of which some are too long."""

import pytest

from bascule.wire.framing import SHOWN, LongLines, TooLong


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
