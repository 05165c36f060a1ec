"""Owner routing (session affinity): serves a request here, or forwards it to the gateway that owns its principal.
Stateful links and servers with a rate limit need the owner, which counts their calls in one place."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import msgspec

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import ConnectionLost
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.principal import Principal
from bascule.gateway.cluster.forward import PASS, Broken, Letter, Moved, Relay, Unreachable, carried
from bascule.gateway.cluster.forward_token import Passes
from bascule.gateway.cluster.membership import Membership
from bascule.gateway.errors import INVALID_REQUEST, Rejected
from bascule.gateway.http.body import BULK, Intake
from bascule.gateway.http.disconnect import Attention, Receive
from bascule.gateway.http.headers import Head
from bascule.gateway.limits import Allowance
from bascule.gateway.mcp.envelope import Asked, check_shape, read_body
from bascule.gateway.mcp.exchange import Send, respond
from bascule.gateway.mcp.results import failed_call, failed_request
from bascule.store.owners import Member
from bascule.wire.jsonrpc import write_error, write_result
from bascule.wire.request_meta import INTERNAL_ERROR, NEW_VERSIONS

PAUSES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.0)
"""Seconds before each look for who serves an agent session that is just changing hands: in all about as long as it
takes until a member that has died without a word is known to be dead."""

STREAMS = frozenset({"subscriptions/listen"})
"""Requests that last. Whoever leaves does not wait for them."""

HARMLESS = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
    }
)
"""What may be asked a second time, beside lists and notifications, although it may have been heard the first time."""

LOST = "the gateway that served this agent session has ended; whether the call was carried out is not known"

Here = Callable[[tuple[Receive, Send]], Awaitable[None]]
"""Serves a request in this process."""

Servers = Mapping[str, ServerConfig]


class Request(msgspec.Struct, frozen=True):
    """One that has come in, and whose it is."""

    principal: Principal
    scope: MutableMapping[str, Any]
    head: Head
    ends: tuple[Receive, Send]
    allowance: Allowance
    lasts: Callable[[], Awaitable[None]]
    """Returns once whoever asked is no longer believed."""

    @property
    def method(self) -> str:
        return self.scope["method"]

    @property
    def receive(self) -> Receive:
        return self.ends[0]

    @property
    def send(self) -> Send:
        return self.ends[1]

    @property
    def endures(self) -> bool:
        """Whether it is a stream, which lasts for as long as its client wants."""
        return self.method == "GET" or self.head.method in STREAMS


class Routing:
    """Decides for each request, and has it carried where it belongs."""

    def __init__(self, membership: Membership, relay: Relay, passes: Passes, intake: Intake) -> None:
        self._membership = membership
        self._relay = relay
        self._passes = passes
        self._intake = intake

    async def serve(self, request: Request, servers: Servers, here: Here) -> None:
        if not needs_owner(request.head, servers):
            return await here(request.ends)
        if self._membership.takes(request.principal):
            return await self._hold(request, here, request.receive)
        headers = carried(request.scope["headers"])
        if headers is None:
            return await respond(request.send, 400, write_error(None, INVALID_REQUEST, "a header is no text"))
        return await self._elsewhere(request, await self._letter(request, headers), here)

    async def _letter(self, request: Request, headers: list[tuple[str, str]]) -> Letter:
        if request.method != "POST":
            return Letter(request.method, headers, b"")
        body, bulk = await self._intake.take(request.receive, request.head.length, request.allowance)
        return Letter(request.method, headers, body, bulk)

    async def _hold(self, request: Request, here: Here, receive: Receive) -> None:
        if request.endures:
            return await here((receive, request.send))
        with self._membership.holding(request.principal):
            await here((receive, request.send))
        return None

    async def _elsewhere(self, request: Request, letter: Letter, here: Here) -> None:
        bulk = letter.bulk
        try:
            for pause in PAUSES:
                await asyncio.sleep(pause)
                owner = await self._membership.owner(request.principal)
                if owner is None:
                    continue
                if owner.id == self._membership.me.id:
                    receive = replayed(letter, request.receive)
                    # Once it was read again, nobody needs it as it came.
                    del letter
                    return await self._hold(request, here, receive)
                if await self._carried(request, letter, owner):
                    return None
        finally:
            if bulk is not None:
                bulk.release()
        words = "the agent session is just changing hands; try again"
        return await respond(
            request.send, 503, write_error(_id_of(letter), INTERNAL_ERROR, words), [(b"retry-after", b"1")]
        )

    async def _carried(self, request: Request, letter: Letter, owner: Member) -> bool:
        """Whether it has been answered. If not, nothing was done, or what may be done twice."""
        shown = (PASS, self._passes.write(request.principal, owner.id))
        letter = msgspec.structs.replace(letter, headers=[*letter.headers, shown])
        with Attention(request.receive) as attention, _for_as_long_as_believed(request, attention):
            try:
                await self._relay.carry(letter, owner, request.send)
            except Moved as moved:
                self._membership.forget(request.principal, moved.to)
                return False
            except Unreachable as error:
                self._membership.forget(request.principal)
                if error.gone:
                    await self._membership.bury(owner, request.principal)
                return False
            except Broken as error:
                self._membership.forget(request.principal)
                if not error.begun and is_harmless(letter, request.head):
                    return False
                await tell_of_the_end(letter, request.head, error, request.send)
        if attention.gone:
            await respond(request.send, 202)
        return True


@contextmanager
def _for_as_long_as_believed(request: Request, attention: Attention) -> Generator[None]:
    """A stream ends with the token of its client, which only this gateway has seen."""
    watching = asyncio.ensure_future(request.lasts()) if request.endures else None
    if watching is not None:
        watching.add_done_callback(lambda ended: None if ended.cancelled() else attention.give_up())
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()


def needs_owner(head: Head, servers: Servers) -> bool:
    """Whether a request may use a link that remembers its principal, or a server that takes only so much of it. Those
    of the old era have sessions, which live where they began."""
    if head.version not in NEW_VERSIONS:
        return True
    if head.method == "server/discover" or not any(is_in_one_place(server) for server in servers.values()):
        return False
    if head.method != "tools/call" or not head.name:
        return True
    # A name that no server's tools can have may be that of a search over all tools.
    meant = [server for server in servers.values() if _may_be_of(head.name, server)]
    return not meant or any(is_in_one_place(server) for server in meant)


def is_in_one_place(server: ServerConfig) -> bool:
    """Whether all that one principal has of it is had through one gateway."""
    return keeps_state(server) or is_counted(server)


def keeps_state(server: ServerConfig) -> bool:
    return not server.stateless and server.lifetime == "session"


def is_counted(server: ServerConfig) -> bool:
    """Whether it takes only so much in a minute. Several who count would let through as many times as much."""
    return server.limits.per_minute is not None or server.limits.bytes_per_minute is not None


def _may_be_of(name: str, server: ServerConfig) -> bool:
    return not server.tool_prefix or name.startswith(f"{server.tool_prefix}_")


def replayed(letter: Letter, receive: Receive) -> Receive:
    """A body that was read, as it would come; after it, what comes."""
    rest: list[MutableMapping[str, Any]] = [
        {"type": "http.request", "body": letter.body, "more_body": False, BULK: letter.bulk}
    ]

    async def again() -> MutableMapping[str, Any]:
        return rest.pop() if rest else await receive()

    return again


def is_harmless(letter: Letter, head: Head) -> bool:
    """Whether it may be asked a second time."""
    asked = _asked(letter, head)
    return asked is None or asked.id is None or asked.method in HARMLESS or asked.method.endswith("/list")


async def tell_of_the_end(letter: Letter, head: Head, error: Broken, send: Send) -> None:
    """What may have been done is not asked for again; it is answered with that."""
    asked = _asked(letter, head)
    answer = b"" if asked is None or asked.id is None else _end_of(asked, str(error))
    await _finish(send, answer, begun=error.begun)


def _end_of(asked: Asked, evidence: str) -> bytes:
    called = asked.method == "tools/call"
    name = str(asked.params.get("name", "")) if called else ""
    failure = ToolFailure(
        FailureKind.CONNECTION_ERROR, ConnectionLost.code, LOST, tool=name, retriable=not called, evidence=evidence
    )
    try:
        if called:
            return write_result(asked.id, failed_call(failure, new=asked.new))
        raise failed_request(failure, new=asked.new)
    except Rejected as rejected:
        return rejected.body(asked.id)


async def _finish(send: Send, body: bytes, *, begun: bool) -> None:
    """The end of an answer that was cut off, as the last event of its stream; or all of one that never began."""
    if begun:
        event = b"event: message\r\ndata: " + body + b"\r\n\r\n" if body else b""
        await send({"type": "http.response.body", "body": event})
    elif body:
        await respond(send, 200, body)
    else:
        await respond(send, 503, headers=[(b"retry-after", b"1")])


def _asked(letter: Letter, head: Head) -> Asked | None:
    if not letter.body:
        return None
    try:
        return check_shape(read_body(letter.body), head)
    except Rejected:
        return None


def _id_of(letter: Letter) -> Any:
    try:
        return read_body(letter.body).id if letter.body else None
    except Rejected:
        return None
