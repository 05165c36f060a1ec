"""The gateway as an ASGI app: one endpoint for every MCP client, in front of all servers of a runtime."""

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from bascule.core.errors import NotIdentified
from bascule.gateway.attention import Attention, Receive
from bascule.gateway.callers import Callers
from bascule.gateway.desk import Desk
from bascule.gateway.envelope import Asked, check_new, check_shape, read_body
from bascule.gateway.exchange import Exchange, Send, respond
from bascule.gateway.head import Head, read_head
from bascule.gateway.intake import Gone, Intake, NotTaken
from bascule.gateway.old_sessions import OldSession, OldSessions
from bascule.gateway.rejection import INVALID_REQUEST, Rejected
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
        self._intake = intake
        self._rules = rules
        self._signs = signs
        self._sessions = sessions
        self.responded: Callable[[int], None] | None = None
        """Told the status of every answer, if anybody wants to know."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send if self.responded is None else _told(send, self.responded))
        else:
            await send({"type": "websocket.close", "code": 1008})

    def drain(self) -> None:
        """Say to whoever asks that requests had better go elsewhere. Those that come are served all the same."""
        self._signs.draining = True

    async def close(self) -> None:
        await self._callers.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = read_head(scope["headers"])
        knock = Knock(head.hosts, head.origins, scope.get("scheme", "http"), scope.get("client"), scope.get("server"))
        away = self._rules.turn_away(knock)
        if away is not None:
            return await respond(send, away.status, write_error(None, INVALID_REQUEST, away.words))
        if scope["path"] != PATH:
            return await self._signs.show(scope, send)
        try:
            await self._message(scope["method"], head, receive, send)
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
        return None

    async def _message(self, method: str, head: Head, receive: Receive, send: Send) -> None:
        desk = self._callers.known(head.authorization) or await self._callers.find(head.authorization)
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
        body = await self._intake.take(receive, head.length)
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


def _told(send: Send, responded: Callable[[int], None]) -> Send:
    async def tell(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            responded(event["status"])
        await send(event)

    return tell


async def _live(receive: Receive, send: Send) -> None:
    """The runtime is opened and closed around the web server, and not by it."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
