"""Heads that differ in a few values only."""

import pytest

from bascule.wire.http_head_template import Outline

HEAD = b"HTTP/1.1 200 OK\r\nDate: today\r\nX-A: (.*)\r\nContent-Length: 12\r\n\r\n"
VALUE = rb"[!-~]{1,9}"


def spans(*values: bytes) -> list[tuple[int, int]]:
    return [(at, at + len(value)) for value in values for at in [HEAD.index(value)]]


OUTLINE = Outline(HEAD, spans(b"today", b"12"), VALUE)


def with_values(date: bytes, length: bytes) -> bytes:
    return HEAD.replace(b"today", date).replace(b"12", length)


@pytest.mark.parametrize("values", [(b"today", b"12"), (b"x", b"123456789"), (b"y" * 9, b"-"), (b"(.*)", b"\\d")])
@pytest.mark.parametrize("after", [b"", b"body", HEAD])
def test_the_values_are_found_and_where_the_head_ends(values: tuple[bytes, bytes], after: bytes):
    head = with_values(*values)
    assert OUTLINE.values(head + after) == (values, len(head))


@pytest.mark.parametrize(
    "head",
    [
        b"",
        HEAD[:-1],
        HEAD[1:],
        with_values(b"", b"12"),
        with_values(b"to day", b"12"),
        with_values(b"today", b"1\r\nX: 2"),
        with_values(b"today", b"1234567890"),
        HEAD.replace(b"X-A", b"X-a"),
        HEAD.replace(b"(.*)", b"more"),
        HEAD.replace(b"\r\n\r\n", b"\r\nX: y\r\n\r\n"),
    ],
)
def test_another_head_is_another(head: bytes):
    assert OUTLINE.values(head) is None


def test_a_head_may_have_no_such_values():
    outline = Outline(HEAD, [], VALUE)
    assert outline.values(HEAD + b"body") == ((), len(HEAD))
    assert outline.values(with_values(b"other", b"12")) is None
