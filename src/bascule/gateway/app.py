"""The gateway as an ASGI app: one endpoint for every MCP client, in front of all servers of a runtime."""

import logging
from collections.abc import MutableMapping
from functools import partial
from typing import Any

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.gateway.attention import Attention, Receive
from bascule.gateway.callers import Callers
from bascule.gateway.desk import Desk
from bascule.gateway.envelope import Asked, check_new, check_shape, read_body
from bascule.gateway.exchange import Exchange, Send, respond
from bascule.gateway.head import Head, read_head
from bascule.gateway.intake import Gone, Intake, NotTaken
from bascule.gateway.old_sessions import OldSession, OldSessions
from bascule.gateway.readiness import Readiness
from bascule.gateway.rejection import INVALID_REQUEST, Rejected
from bascule.gateway.routing import Request, Routing
from bascule.gateway.signs import Signs
from bascule.identity.house_rules import HouseRules, Knock
from bascule.wire.jsonrpc import write_error, write_result
from bascule.wire.stamp import INTERNAL_ERROR, OLD_VERSIONS

_log = logging.getLogger("bascule.gateway")

PATH = "/mcp"
SESSION = b"mcp-session-id"

Scope = MutableMapping[str, Any]


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
        self.readiness = Readiness()
        self.routing: Routing | None = None
        """Where there are several gateways: which of them serves a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def close(self) -> None:
        await self._callers.close()

    async def serve_for(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """A request whose principal is known: another gateway has let it in."""
        await self._answer(scope, receive, send, principal)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, known: Principal | None = None) -> None:
        head = read_head(scope["headers"])
        if known is None and await self._kept_out(scope, head, send):
            return
        try:
            if known is None:
                await self._message(scope, head, receive, send)
            else:
                await self._serve(self._callers.desk(known), scope["method"], head, receive, send)
        except NotIdentified as error:
            await self._signs.challenge(error, send)
        except NotTaken as error:
            # The rest of the body is on its way: the connection cannot be used for another request.
            await respond(
                send, error.status, write_error(None, INVALID_REQUEST, error.message), [(b"connection", b"close")]
            )
        except Gone:
            pass
        except Exception:  # noqa: BLE001 -- the outermost: whatever went wrong here must not take the gateway with it
            _log.exception("a request could not be answered")
            await respond(send, 500, write_error(None, INTERNAL_ERROR, "an error of the gateway; its log says more"))

    async def _kept_out(self, scope: Scope, head: Head, send: Send) -> bool:
        """Whether it is answered without a look at who asks."""
        knock = Knock(head.hosts, head.origins, scope.get("scheme", "http"), scope.get("client"), scope.get("server"))
        away = self._rules.turn_away(knock)
        if away is not None:
            await respond(send, away.status, write_error(None, INVALID_REQUEST, away.words))
        elif scope["path"] != PATH:
            await self._signs.show(scope, send)
        else:
            return False
        return True

    async def _message(self, scope: Scope, head: Head, receive: Receive, send: Send) -> None:
        desk = self._callers.known(head.authorization) or await self._callers.find(head.authorization)
        method = scope["method"]
        if self.routing is None:
            return await self._serve(desk, method, head, receive, send)
        request = Request(desk.session.principal, method, scope["headers"], head, receive, send)
        return await self.routing.serve(request, self._callers.servers, partial(self._serve, desk, method, head))

    async def _serve(self, desk: Desk, method: str, head: Head, receive: Receive, send: Send) -> None:
        if method == "POST":
            await self._post(desk, head, receive, send)
        elif method == "DELETE" and head.session is not None:
            ended = self._sessions.end(head.session, desk.session.principal)
            await respond(send, 200 if ended else 404)
        else:
            await respond(send, 405, headers=[(b"allow", b"POST, DELETE")])

    async def _post(self, desk: Desk, head: Head, receive: Receive, send: Send) -> None:
        if not head.is_json:
            return await respond(send, 415, write_error(None, INVALID_REQUEST, "the body must be application/json"))
        json, streams = head.accepts()
        if not json:
            return await respond(send, 406, write_error(None, INVALID_REQUEST, "answers are application/json"))
        body = await self.intake.take(receive, head.length)
        asked = None
        try:
            asked = check_shape(read_body(body), head)
            if asked.new:
                return await self._new(desk, head, asked, (receive, send), streams=streams)
            return await self._old(desk, head, asked, (receive, send), streams=streams)
        except Rejected as rejected:
            await respond(send, rejected.status, rejected.body(None if asked is None else asked.id))

    async def _new(self, desk: Desk, head: Head, asked: Asked, ends: tuple[Receive, Send], *, streams: bool) -> None:
        receive, send = ends
        if asked.id is None:
            # This era has no notifications from clients; some send them all the same.
            return await respond(send, 202)
        check_new(asked, head)
        return await Exchange(send, asked, streams=streams).serve(desk, Attention(receive))

    async def _old(self, desk: Desk, head: Head, asked: Asked, ends: tuple[Receive, Send], *, streams: bool) -> None:
        receive, send = ends
        if asked.method == "initialize":
            return await self._initialize(desk, asked, send)
        if head.version is not None and head.version not in OLD_VERSIONS:
            raise Rejected(INVALID_REQUEST, f"the protocol version {head.version[:40]!r} is not spoken here")
        session = None
        if head.session is not None:
            session = self._sessions.find(head.session, desk.session.principal)
            if session is None:
                raise Rejected(INVALID_REQUEST, "there is no such session; begin a new one", status=404)
        if asked.id is None:
            self._note(asked, session)
            return await respond(send, 202)
        attention = Attention(receive)
        if session is None:
            return await Exchange(send, asked, streams=streams).serve(desk, attention)
        session.running[asked.id] = attention
        try:
            return await Exchange(send, asked, streams=streams).serve(desk, attention)
        finally:
            session.running.pop(asked.id, None)

    async def _initialize(self, desk: Desk, asked: Asked, send: Send) -> None:
        if asked.id is None:
            raise Rejected(INVALID_REQUEST, "initialize is a request, and has an id")
        result = await desk.serve(asked)
        name = self._sessions.begin(desk.session.principal)
        await respond(send, 200, write_result(asked.id, result), [(SESSION, name.encode())])

    def _note(self, asked: Asked, session: OldSession | None) -> None:
        """A notification. Only one says something that matters here: that an answer is no longer wanted."""
        if asked.method == "notifications/cancelled" and session is not None:
            attention = session.running.get(asked.params.get("requestId"))
            if attention is not None:
                attention.give_up()


async def _live(receive: Receive, send: Send) -> None:
    """The runtime is opened and closed around the web server, and not by it."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
