"""The ways to misbehave that only a WebSocket has, added to those that all have."""

from beast_ways import Ask, Head, Piece, Raw, at, stay
from light import Iterator, dumps


@at("upgrade")
def an_opening_answered_with_a_page(ask: Ask) -> Iterator[Piece]:
    yield Head("200 OK", {"Content-Type": "text/html"})


@at("upgrade")
def an_opening_redirected_elsewhere(ask: Ask) -> Iterator[Piece]:
    yield Head("302 Found", {"Location": ask.trap})


@at("upgrade")
def silence_at_the_opening(ask: Ask) -> Iterator[Piece]:
    stay()
    yield Raw()


@at("tools/call")
def a_frame_that_says_it_is_a_gigabyte(ask: Ask) -> Iterator[Piece]:
    yield Raw(b"\x81\x7f" + (1 << 30).to_bytes(8, "big"))
    while True:
        yield Raw(b"x" * 65536)


@at("tools/call")
def fragments_without_end(ask: Ask) -> Iterator[Piece]:
    """Empty ones, which no cap on a message counts."""
    yield Raw(b"\x01\x00")
    while True:
        yield Raw(b"\x00\x00" * 30_000)


@at("tools/call")
def a_flood_of_pings(ask: Ask) -> Iterator[Piece]:
    while True:
        yield Raw(b"\x89\x04ping" * 10_000)


@at("tools/call")
def compression_unasked(ask: Ask) -> Iterator[Piece]:
    yield Raw(b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00")
    stay()


@at("tools/call")
def a_masked_frame(ask: Ask) -> Iterator[Piece]:
    """What only clients do. It can be read all the same."""
    payload, mask = dumps(ask.text("in disguise")).encode(), b"\x01\x02\x03\x04"
    head = b"\x81" + (bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big"))
    yield Raw(head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload)))


@at("tools/call")
def a_closing_frame_and_no_reply(ask: Ask) -> Iterator[Piece]:
    reason = b"\x1b[31mgo away\x07"
    yield Raw(bytes([0x88, len(reason) + 2]) + (1011).to_bytes(2, "big") + reason)
    stay()


@at("tools/call")
def a_frame_of_no_known_kind(ask: Ask) -> Iterator[Piece]:
    yield Raw(b"\x83\x00")
    stay()
