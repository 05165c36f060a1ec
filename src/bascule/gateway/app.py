"""ASGI app of the gateway: the MCP endpoint over streamable HTTP, with host and origin checks, authentication, and
dispatch by method and era."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from functools import partial
from typing import Any

from bascule.core.errors import NotIdentified
from bascule.core.json_types import as_object
from bascule.core.principal import Principal
from bascule.gateway.auth import TOKEN_SHOWN, VOUCHED, Callers
from bascule.gateway.cluster.routing import Request, Routing
from bascule.gateway.errors import INVALID_REQUEST, Rejected, not_served, retry_after, too_much, unforeseen
from bascule.gateway.health import Signs
from bascule.gateway.http.body import Gone, Intake, NotTaken
from bascule.gateway.http.disconnect import Attention, Receive
from bascule.gateway.http.head_cache import Headers
from bascule.gateway.http.headers import Head, read_head
from bascule.gateway.limits import TooMuch, address_of
from bascule.gateway.mcp.envelope import Asked, check_new, check_shape, read_body
from bascule.gateway.mcp.exchange import Exchange, Send, respond
from bascule.gateway.mcp.handler import Desk
from bascule.gateway.mcp.legacy_methods import WISHES, Wishes, note_roots, opened
from bascule.gateway.mcp.listen import Listening, SessionStream, Streams
from bascule.gateway.mcp.log_messages import level_of
from bascule.gateway.mcp.notifications import DEFAULT_LEVEL
from bascule.gateway.mcp.sessions import OldSession, OldSessions
from bascule.gateway.readiness import Readiness
from bascule.identity.host_origin_check import HouseRules, Knock, TurnedAway
from bascule.runtime.server_requests.roots import ROOTS_CHANGED
from bascule.upstream.resource_subscriptions import LISTEN
from bascule.wire.jsonrpc import Message, write_error, write_result
from bascule.wire.request_meta import HEADER_MISMATCH, OLD_VERSIONS

_log = logging.getLogger("bascule.gateway")

PATH = "/mcp"
SESSION = b"mcp-session-id"
CLOSE = [(b"connection", b"close")]

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gateway:
    """One endpoint. What it knows of a request it has from its headers and its body, and of a caller from its token."""

    def __init__(
        self, callers: Callers, intake: Intake, rules: HouseRules, signs: Signs, sessions: OldSessions
    ) -> None:
        self._callers = callers
        self.intake = intake
        self._rules = rules
        self._signs = signs
        self._sessions = sessions
        self.streams = Streams()
        self.responded: Callable[[int], None] | None = None
        """Told the status of every answer, if anybody wants to know."""
        self.readiness = Readiness()
        signs.draining = lambda: self.readiness.draining
        self.beside: tuple[str, App] | None = None
        """Another app, and what its paths begin with. Whom the house rules turn away does not reach it either."""
        self.routing: Routing | None = None
        """Where there are several gateways: which of them serves a request."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        kind = scope["type"]
        if kind == "http":
            return self._answer(scope, receive, send if self.responded is None else _told(send, self.responded))
        return _live(receive, send) if kind == "lifespan" else _refuse(send)

    async def close(self) -> None:
        await self._callers.close()

    async def serve_for(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """A request whose principal is known: another gateway has let it in."""
        await self._answer(scope, receive, send, principal)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, known: Principal | None = None) -> None:
        headers = scope["headers"]
        head = headers.read() if isinstance(headers, Headers) and known is None else read_head(headers)
        if known is None and not head.welcome and (answered := self._kept_out(scope, head, receive, send)) is not None:
            return await answered
        try:
            await self._message(scope, head, (receive, send), known)
        except NotIdentified as error:
            address = address_of(scope.get("client"))
            kept = await self._callers.strangers.turn_away(address, token=error.rule != TOKEN_SHOWN)
            await self._signs.challenge(error, send, [] if kept else CLOSE)
        except TooMuch as error:
            kept = await self._callers.strangers.wait()
            await respond(send, 429, too_much(error), [*retry_after(error), *([] if kept else CLOSE)])
        except NotTaken as error:
            # Not closed at once: a client that is busy sending the rest of its body would not see the answer.
            await respond(send, error.status, not_served(error))
        except Gone:
            pass
        except Exception:  # noqa: BLE001 -- the outermost: whatever went wrong here must not take the gateway with it
            _log.exception("a request could not be answered")
            await respond(send, 500, unforeseen())

    def _kept_out(self, scope: Scope, head: Head, receive: Receive, send: Send) -> Awaitable[None] | None:
        """What answers it without a look at whose agent session it is for, if anything does."""
        knock = Knock(head.hosts, head.origins, scope.get("scheme", "http"), scope.get("client"), scope.get("server"))
        away = self._rules.turn_away(knock)
        if away is not None:
            return self._turn_away(away, scope, send)
        if scope["path"] != PATH:
            return self._show(scope, receive, send)
        if isinstance(headers := scope["headers"], Headers):
            headers.welcome()
        return None

    def _show(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if self.beside is not None and scope["path"].startswith(self.beside[0]):
            return self.beside[1](scope, receive, send)
        return self._signs.show(scope, send)

    async def _turn_away(self, away: TurnedAway, scope: Scope, send: Send) -> None:
        kept = await self._callers.strangers.turn_away(address_of(scope.get("client")))
        words = write_error(None, INVALID_REQUEST, away.words)
        await respond(send, away.status, words, [] if kept else CLOSE)

    async def _message(self, scope: Scope, head: Head, ends: tuple[Receive, Send], known: Principal | None) -> None:
        if head.twice:
            # Whoever stands before us may have read the other one.
            words = f"the header {head.twice} came twice"
            return await respond(ends[1], 400, write_error(None, HEADER_MISMATCH, words))
        desk = self._callers.known(head.authorization) if known is None else None
        if desk is None:
            desk = await self._desk(scope, head, known)
        self._callers.admit(desk)
        # For who has to choose whose connection is closed.
        scope["holder"] = desk.session.principal
        method = scope["method"]
        try:
            if self.routing is not None and known is None:
                lasts = partial(self._callers.lasts, head.authorization)
                request = Request(desk.session.principal, scope, head, ends, desk.allowance, lasts)
                return await self.routing.serve(
                    request, self._callers.servers, partial(self._served, method, desk, head)
                )
            if method == "POST":
                return await self._post(desk, head, *ends)
            return await self._served(method, desk, head, ends)
        finally:
            desk.allowance.leave()

    async def _desk(self, scope: Scope, head: Head, known: Principal | None) -> Desk:
        if known is not None:
            head.authorization = VOUCHED
            return self._callers.desk(known)
        return await self._callers.find(head.authorization, address_of(scope.get("client")))

    async def _served(self, method: str, desk: Desk, head: Head, ends: tuple[Receive, Send]) -> None:
        receive, send = ends
        if method == "POST":
            await self._post(desk, head, receive, send)
        elif method == "DELETE" and head.session is not None:
            ended = self._sessions.end(head.session, desk.session.principal)
            await respond(send, 200 if ended else 404)
        elif method == "GET" and head.session is not None:
            await self._get(desk, head, receive, send)
        else:
            await respond(send, 405, headers=[(b"allow", b"GET, POST, DELETE")])

    async def _get(self, desk: Desk, head: Head, receive: Receive, send: Send) -> None:
        """The stream of a session of the old era. The new one has none."""
        try:
            if not head.accepts()[1]:
                raise Rejected(INVALID_REQUEST, "this is a stream of text/event-stream", status=406)
            session = self._session(desk, head)
            stream = SessionStream(self.streams, session, partial(self._callers.lasts, head.authorization))
            await stream.serve(desk.session, receive, send)
        except Rejected as rejected:
            await respond(send, rejected.status, rejected.body(None))

    def _session(self, desk: Desk, head: Head) -> OldSession:
        session = self._sessions.find(head.session or "", desk.session.principal, partial(opened, desk.session))
        if session is None:
            raise Rejected(INVALID_REQUEST, "there is no such session; begin a new one", status=404)
        return session

    async def _post(self, desk: Desk, head: Head, receive: Receive, send: Send) -> None:
        if not head.is_json:
            return await respond(send, 415, write_error(None, INVALID_REQUEST, "the body must be application/json"))
        json, streams = head.accepts()
        if not json:
            return await respond(send, 406, write_error(None, INVALID_REQUEST, "answers are application/json"))
        body, bulk = self.intake.at_hand(receive), None
        if body is None:
            body, bulk = await self.intake.take(receive, head.length, desk.allowance)
        asked = None
        try:
            message = read_body(body)
            # What was read is there once more from here on.
            del body
            if message.method is None and head.session is not None:
                self._take_answer(self._session(desk, head), message)
                return await respond(send, 202)
            asked = check_shape(message, head, bulk)
            del message
            if asked.new:
                return await self._new(desk, head, asked, (receive, send), streams=streams)
            return await self._old(desk, head, asked, (receive, send), streams=streams)
        except Rejected as rejected:
            await respond(send, rejected.status, rejected.body(None if asked is None else asked.id))
        finally:
            if bulk is not None:
                bulk.release()

    def _new(
        self, desk: Desk, head: Head, asked: Asked, ends: tuple[Receive, Send], *, streams: bool
    ) -> Awaitable[None]:
        receive, send = ends
        if asked.id is None:
            # This era has no notifications from clients; some send them all the same.
            return respond(send, 202)
        check_new(asked, head)
        exchange = Exchange(send, asked, streams=streams, level=level_of(asked))
        if asked.method == LISTEN:
            lasts = partial(self._callers.lasts, head.authorization)
            return exchange.serve(Listening(desk.session, self.streams, lasts), Attention(receive))
        return exchange.serve(desk, Attention(receive))

    async def _old(self, desk: Desk, head: Head, asked: Asked, ends: tuple[Receive, Send], *, streams: bool) -> None:
        receive, send = ends
        if asked.method == "initialize":
            return await self._initialize(desk, asked, send)
        if head.version is not None and head.version not in OLD_VERSIONS:
            raise Rejected(INVALID_REQUEST, f"the protocol version {head.version[:40]!r} is not spoken here")
        session = self._session(desk, head) if head.session is not None else None
        if asked.id is None:
            self._note(asked, session, desk)
            return await respond(send, 202)
        attention = Attention(receive)
        outlet = session.outlet if session is not None else None
        level = outlet.level if outlet is not None else DEFAULT_LEVEL
        exchange = Exchange(send, asked, streams=streams, level=level, session=session)
        served = Wishes(desk.session, outlet) if asked.method in WISHES else desk
        if session is None:
            return await exchange.serve(served, attention)
        session.running[asked.id] = attention
        try:
            return await exchange.serve(served, attention)
        finally:
            session.running.pop(asked.id, None)

    async def _initialize(self, desk: Desk, asked: Asked, send: Send) -> None:
        if asked.id is None:
            raise Rejected(INVALID_REQUEST, "initialize is a request, and has an id")
        result = await desk.serve(asked)
        capabilities = as_object(asked.params.get("capabilities"))
        name = self._sessions.begin(desk.session.principal, capabilities, opened(desk.session))
        await respond(send, 200, write_result(asked.id, result), [(SESSION, name.encode())])

    def _take_answer(self, session: OldSession, message: Message) -> None:
        """What a client was asked on the stream of a request of its. What it was not asked is let be."""
        if message.jsonrpc != "2.0" or not isinstance(message.id, str | int) or message.result is message.error:
            raise Rejected(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 message")
        answer = session.asked.get(str(message.id))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _note(self, asked: Asked, session: OldSession | None, desk: Desk) -> None:
        """A notification. Two say something that matters here: that an answer is no longer wanted, and that there are
        other roots."""
        if session is None:
            return
        if asked.method == ROOTS_CHANGED:
            note_roots(desk.session, session.capabilities, session.outlet)
        elif asked.method == "notifications/cancelled":
            attention = session.running.get(asked.params.get("requestId"))
            if attention is not None:
                attention.give_up()


def _told(send: Send, responded: Callable[[int], None]) -> Send:
    async def tell(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            responded(event["status"])
        await send(event)

    return tell


async def _refuse(send: Send) -> None:
    """Nothing but HTTP is spoken here."""
    await send({"type": "websocket.close", "code": 1008})


async def _live(receive: Receive, send: Send) -> None:
    """The runtime is opened and closed around the web server, and not by it."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
