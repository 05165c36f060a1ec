"""A JSON text in pieces, without its escapes."""

import pytest

from bascule.wire.json_limits import PIECE, unescaped_pieces


def without_escapes(text: bytes) -> bytes:
    return b"".join(unescaped_pieces(text))


def test_escaped_quotes_and_backslashes_are_gone_and_the_rest_stays():
    assert without_escapes(rb'{"a\"b": "c\\", "d\n": "\\\""}') == rb'{"ab": "c", "d\n": ""}'


@pytest.mark.parametrize("before", range(PIECE - 4, PIECE + 2))
@pytest.mark.parametrize("escaped", [rb"\"", rb"\\", rb"\\\"", rb"\\\\"])
def test_an_escape_is_never_cut_in_two(before: int, escaped: bytes):
    assert without_escapes(b"x" * before + escaped + b'"') == b"x" * before + b'"'


def test_no_piece_is_much_longer_than_another():
    assert max(map(len, unescaped_pieces(b"x" * (3 * PIECE + 7)))) == PIECE
