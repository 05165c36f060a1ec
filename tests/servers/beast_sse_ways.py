"""The ways to misbehave that only the old HTTP with one event stream has. `GET` is the request for the stream itself."""

import time

from beast_ways import CUT, Ask, Head, Piece, Raw, at, stay
from light import Iterator, dumps

EVENTS = Head("200 OK", {"Content-Type": "text/event-stream"})


@at("GET")
def an_endpoint_elsewhere(ask: Ask) -> Iterator[Piece]:
    yield EVENTS
    yield Raw(f"event: endpoint\ndata: {ask.trap}/say\n\n".encode())
    stay()


@at("GET")
def an_endpoint_that_never_comes(ask: Ask) -> Iterator[Piece]:
    yield EVENTS
    while True:
        yield Raw(b": one moment\n\n")
        time.sleep(0.002)


@at("GET")
def an_endpoint_without_end(ask: Ask) -> Iterator[Piece]:
    yield EVENTS
    yield Raw(b"event: endpoint\ndata: /")
    while True:
        yield Raw(b"x" * 65536)


@at("GET")
def a_web_page_for_a_stream(ask: Ask) -> Iterator[Piece]:
    yield Head("200 OK", {"Content-Type": "text/html"})
    while True:
        yield Raw(b"<p>Welcome to nothing in particular.</p>" * 1000)


@at("tools/call")
def a_second_endpoint(ask: Ask) -> Iterator[Piece]:
    yield Raw(f"event: endpoint\ndata: {ask.trap}/say\n\n".encode())
    yield ask.text("done")


@at("tools/call")
def a_cut_stream(ask: Ask) -> Iterator[Piece]:
    yield dumps(ask.text("as I was saying")).encode()[:40]
    yield CUT
