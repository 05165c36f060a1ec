"""Blanks around the value of a header are nobody's."""

from starlette.types import Message, Receive, Scope, Send

from bascule.kit.server import PlainHeaders


async def passed_on(scope: Scope) -> Scope:
    """The scope that the app behind it gets."""
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(_message: Message) -> None:
        raise AssertionError("nothing is sent")

    await PlainHeaders(app)(scope, receive, send)
    return seen[0]


async def test_blanks_around_values_are_taken_off_and_those_within_stay():
    headers = [(b"mcp-name", b"  a tool\t "), (b"x", b""), (b"y", b"\xa0z")]
    given = {"type": "http", "path": "/mcp", "headers": headers}
    got = await passed_on(given)
    assert got["headers"] == [(b"mcp-name", b"a tool"), (b"x", b""), (b"y", b"\xa0z")]
    assert got["path"] == "/mcp"
    assert given["headers"] is headers


async def test_what_is_no_request_is_passed_on_as_it_is():
    scope: Scope = {"type": "lifespan"}
    assert await passed_on(scope) is scope
