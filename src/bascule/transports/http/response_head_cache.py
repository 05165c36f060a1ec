"""Response head cache of one link: recognises a head that came before, except for date and length, without parsing it.
All other responses go to aiohttp's parser, and the cache learns from its result."""

import re

from aiohttp import hdrs
from aiohttp.http import RawResponseMessage
from multidict import CIMultiDict, CIMultiDictProxy

from bascule.wire.http_head_template import Outline

MOST = 4
"""Heads that are remembered of one link."""

LONGEST = 4096
"""Bytes of a head that is remembered."""

VAIN = 16
"""Heads that were remembered one after the other and never came again, until no more are: this server says something
new with each reply."""

_DATE, _LENGTH = b"date", b"content-length"
_VALUE = rb"[ -~]{1,64}"
_LINES = {name: re.compile(rb"\r\n%s:[ \t]*(%s)\r\n" % (name, _VALUE), re.IGNORECASE) for name in (_DATE, _LENGTH)}
_END = b"\r\n\r\n"
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,6})\r\n")
_LAST_CHUNK = b"\r\n0\r\n\r\n"


class WholeReply:
    """A reply with HTTP 200, in JSON and not compressed, all of which came at once."""

    __slots__ = ("body", "headers")

    status = 200

    def __init__(self, headers: CIMultiDictProxy[str], body: bytes) -> None:
        self.headers = headers
        """Without those that differ each time."""
        self.body = body


class _Familiar:
    """A head, without the values that differ."""

    __slots__ = ("_length", "_outline", "headers", "latest")

    def __init__(
        self,
        outline: Outline,
        length: int | None,
        headers: CIMultiDictProxy[str],
        latest: tuple[bytes, int | None],
    ) -> None:
        """`length` says which of the values is that of the body, which comes as one chunk if none is."""
        self._outline = outline
        self._length = length
        self.headers = headers
        self.latest = latest
        """The head that came last, and how long it says that its body is."""

    def head_of(self, data: bytes) -> tuple[bytes, int | None] | None:
        found = self._outline.values(data)
        if found is None:
            return None
        values, end = found
        length = None
        if self._length is not None:
            if not values[self._length].isdigit():
                return None
            length = int(values[self._length])
        self.latest = data[:end], length
        return self.latest


class Replies:
    """What the replies of one link look like."""

    __slots__ = ("_known", "_vain")

    def __init__(self) -> None:
        self._known: list[_Familiar] = []
        """The one that came last comes first."""
        self._vain = 0

    @property
    def curious(self) -> bool:
        """Whether there is a point in learning another."""
        return self._vain < VAIN

    def recognise(self, data: bytes) -> WholeReply | None:
        """The reply, if this is the whole of one, and nothing else, with a head that came before: byte for byte, but
        for the date and the length."""
        for familiar in self._known:
            head, length = familiar.latest
            if not data.startswith(head):
                found = familiar.head_of(data)
                if found is None:
                    continue
                head, length = found
            body = _body(data, len(head), length)
            if body is None:
                return None
            self._vain = 0
            if familiar is not self._known[0]:
                self._known.remove(familiar)
                self._known.insert(0, familiar)
            return WholeReply(familiar.headers, body)
        return None

    def learn(self, data: bytes, message: RawResponseMessage) -> None:
        """A response came that began with this, and aiohttp made this message of it."""
        end = data.find(_END, 0, LONGEST) + len(_END)
        # Where the body comes after the head, as it does when there is little to do, there is nothing to learn.
        if end < len(_END) or end == len(data) or not self.curious or not _is_plain(data[:end], message):
            return
        names = [name.lower() for name, _ in message.raw_headers]
        found = sorted(
            (line.span(1), name)
            for name, pattern in _LINES.items()
            if names.count(name) == 1 and (line := pattern.search(data, 0, end)) is not None
        )
        varying = [name for _, name in found]
        length = int(message.headers[hdrs.CONTENT_LENGTH]) if _LENGTH in varying else None
        if (length is None) is not message.chunked or _body(data, end, length) is None:
            return
        self._vain += 1
        headers = CIMultiDict(message.headers)
        for name in varying:
            del headers[name.decode()]
        outline = Outline(data[:end], (span for span, _ in found), _VALUE)
        place = varying.index(_LENGTH) if _LENGTH in varying else None
        self._known.insert(0, _Familiar(outline, place, CIMultiDictProxy(headers), (data[:end], length)))
        del self._known[MOST:]


def _is_plain(head: bytes, message: RawResponseMessage) -> bool:
    """Whether this is the head of that message, in the plainest way of writing it, of a reply that is read with it, and
    after which its connection is used again."""
    # What is cheap comes first: the replies of some servers are all events, and each is looked at.
    return (
        message.code == 200
        and message.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower() == "application/json"
        and hdrs.CONTENT_ENCODING not in message.headers
        and message.headers.getall(hdrs.TRANSFER_ENCODING, []) in ([], ["chunked"])
        and not message.should_close
        and not message.upgrade
        and head.startswith(b"HTTP/1.1 200 ")
        and message.raw_headers == _headers_in(head)
    )


def _headers_in(head: bytes) -> tuple[tuple[bytes, bytes], ...]:
    parts = (line.partition(b":") for line in head.removesuffix(_END).split(b"\r\n")[1:])
    return tuple((name, value.strip(b" \t")) for name, _, value in parts)


def _body(data: bytes, at: int, length: int | None) -> bytes | None:
    """What follows the head, if it is just that long; or the one chunk that it is, if it is just one."""
    if length is not None:
        return data[at:] if len(data) - at == length else None
    size = _CHUNK.match(data, at)
    if size is None:
        return None
    start = size.end()
    stop = start + int(size[1], 16)
    # An empty chunk is the last one, and nothing follows it but the end of the line.
    if stop == start or len(data) != stop + len(_LAST_CHUNK) or not data.endswith(_LAST_CHUNK):
        return None
    return data[start:stop]
