"""Ways to misbehave that only HTTP has."""

import itertools

from beast_ways import Ask, Head, Piece, Raw, at
from light import Iterator


@at("tools/call")
def an_internal_error_in_html(ask: Ask) -> Iterator[Piece]:
    yield Head("500 Internal Server Error", {"Content-Type": "text/html"})
    yield Raw(b"<html>" + b"<b>sorry</b>" * 100_000)


@at("tools/call")
def a_page_in_place_of_a_reply(ask: Ask) -> Iterator[Piece]:
    yield Head("200 OK", {"Content-Type": "text/html"})
    yield Raw(b"<html>" * 1_000_000)


@at("tools/call")
def no_content(ask: Ask) -> Iterator[Piece]:
    yield Head("204 No Content", {})


@at("tools/call")
def too_many_requests(ask: Ask) -> Iterator[Piece]:
    yield Head("429 Too Many Requests", {"Retry-After": "86400"})
    yield Raw()


@at("tools/call")
def a_demand_to_log_in(ask: Ask) -> Iterator[Piece]:
    yield Head("401 Unauthorized", {"WWW-Authenticate": f'Bearer resource_metadata="{ask.trap}/metadata"'})
    yield Raw()


@at("tools/call")
def a_redirect_in_a_circle(ask: Ask) -> Iterator[Piece]:
    yield Head("307 Temporary Redirect", {"Location": "/mcp"})
    yield Raw()


@at("tools/call")
def a_redirect_to_a_file(ask: Ask) -> Iterator[Piece]:
    yield Head("308 Permanent Redirect", {"Location": "file:///etc/passwd"})
    yield Raw()


@at("tools/call")
def a_redirect_that_forgets_the_body(ask: Ask) -> Iterator[Piece]:
    yield Head("303 See Other", {"Location": "/elsewhere"})
    yield Raw()


@at("tools/call")
def a_hundred_thousand_headers(ask: Ask) -> Iterator[Piece]:
    yield Head("200 OK", {f"X-{number}": "y" * 50 for number in range(100_000)})
    yield Raw()


@at("tools/call")
def a_header_of_a_megabyte(ask: Ask) -> Iterator[Piece]:
    yield Head("200 OK", {"X": "y" * 1_000_000})
    yield Raw()


@at("tools/call")
def ids_of_a_megabyte(ask: Ask) -> Iterator[Piece]:
    for number in itertools.count():
        yield Raw(b"id: " + str(number).encode() * 200_000 + b"\ndata:\n\n")
