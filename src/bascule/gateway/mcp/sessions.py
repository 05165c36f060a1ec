"""MCP sessions (`Mcp-Session-Id`) of old-era clients: the session table with requests in flight, and signed session ids
that every gateway on one store accepts."""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.principal import Principal
from bascule.gateway.http.disconnect import Attention
from bascule.gateway.mcp.elicitation import answered, taken_back
from bascule.gateway.mcp.notifications import Outlet
from bascule.wire.jsonrpc import Message, write_notification, write_request

LONGEST = 24 * 3600.0
"""Seconds for which a session that began elsewhere is gone on with. Where it began, it may last longer."""

MOST_SAID = 1024
"""Bytes of what a client said that it can be asked, which is a part of the name. Of more, nothing is."""

_RANDOM, _TIME, _MAC = 16, 6, 32
_SIGNED = b"bascule session of the old era\n"


class SessionSeal:
    """Names sessions. A name fits one principal, and nobody without the secret can make one."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = secret
        self._clock = clock

    def name(self, principal: Principal, capabilities: JsonObject) -> str:
        said = msgspec.json.encode(capabilities)
        born = secrets.token_bytes(_RANDOM) + int(self._clock()).to_bytes(_TIME)
        born += said if len(said) <= MOST_SAID else b"{}"
        return base64.urlsafe_b64encode(self._mac(born, principal) + born).decode()

    def read(self, name: str, principal: Principal) -> JsonObject | None:
        """What the client can be asked, if this is a session of the principal."""
        try:
            raw = base64.b64decode(name, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, born = raw[:_MAC], raw[_MAC:]
        if len(born) < _RANDOM + _TIME or not hmac.compare_digest(mac, self._mac(born, principal)):
            return None
        if self._clock() - int.from_bytes(born[_RANDOM : _RANDOM + _TIME]) >= LONGEST:
            return None
        return msgspec.json.decode(born[_RANDOM + _TIME :], type=dict[str, Any])

    def _mac(self, born: bytes, principal: Principal) -> bytes:
        whose = msgspec.json.encode((principal.user_id, principal.session_id))
        return hmac.digest(self._secret, _SIGNED + whose + b"\n" + born, "sha256")


MOST_SESSIONS = 10_000
"""Sessions that are remembered. The one that was used longest ago is forgotten first; its client begins anew."""

IDLE = 3600.0
"""Seconds after which a session that nobody uses is forgotten."""

FAREWELL = 1.0
"""Seconds in which a client is told that a question was taken back. One that does not read is not waited for."""

Say = Callable[[bytes], Awaitable[None]]
"""Sends a message on one stream of a session. Waits for a client that reads slowly."""


class OldSession(msgspec.Struct):
    """One MCP session of an old-era client. Only the principal that began it can continue it."""

    principal: Principal
    used: float
    began: float
    capabilities: JsonObject = {}
    """What the client said that it can be asked."""
    asked: dict[str, "asyncio.Future[Message]"] = {}
    """What it was asked and has not answered, by the ids that we gave."""
    running: dict[Any, Attention] = {}
    """Requests under way, by the ids the client gave them."""
    outlet: Outlet = msgspec.field(default_factory=Outlet)
    """Where its client is told of news."""

    async def ask(self, say: Say, method: str, params: JsonObject) -> Any:
        """Put a question to its client by a request, under an id that nobody can guess: the answer comes with another
        request. Raises `NotAnswered`."""
        name = secrets.token_urlsafe(16)
        self.asked[name] = answer = asyncio.get_running_loop().create_future()
        try:
            await say(write_request(name, method, params))
            return answered(await answer)
        except asyncio.CancelledError:
            # It is of no use any more, so nobody needs to think about it.
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await say(write_notification("notifications/cancelled", taken_back(name)))
            raise
        finally:
            del self.asked[name]


class OldSessions:
    """Table of all MCP sessions of old-era clients, each under an id that cannot be guessed."""

    def __init__(
        self,
        clock: Callable[[], float],
        seal: SessionSeal | None = None,
        ended: Callable[[float], None] | None = None,
    ) -> None:
        """With a `seal`, what another gateway began is gone on with here. `ended` is told of each session that is over
        how many seconds it was used."""
        self._clock = clock
        self._seal = seal
        self._ended = ended
        self._sessions: dict[str, OldSession] = {}

    def begin(self, principal: Principal, capabilities: JsonObject | None = None, outlet: Outlet | None = None) -> str:
        self._forget()
        name = secrets.token_urlsafe(24) if self._seal is None else self._seal.name(principal, capabilities or {})
        now = self._clock()
        self._sessions[name] = OldSession(principal, now, now, capabilities or {}, outlet=outlet or Outlet())
        return name

    def find(self, name: str, principal: Principal, outlet: Callable[[], Outlet] = Outlet) -> OldSession | None:
        """It, moved to the end of those that may be forgotten. `outlet` makes that of one that began elsewhere."""
        session = self._sessions.pop(name, None)
        if session is None and self._seal is not None:
            capabilities = self._seal.read(name, principal)
            if capabilities is not None:
                self._forget()
                now = self._clock()
                session = OldSession(principal, now, now, capabilities, outlet=outlet())
        if session is None:
            return None
        self._sessions[name] = session
        idle = session.used + IDLE < self._clock() and not session.outlet.delivering
        if session.principal != principal or idle:
            # To who did not begin it, it is not there.
            return None
        session.used = self._clock()
        return session

    def end(self, name: str, principal: Principal) -> bool:
        if self.find(name, principal) is None:
            return False
        session = self._sessions.pop(name)
        for attention in session.running.values():
            attention.give_up()
        self._over(session)
        return True

    def _forget(self) -> None:
        """They are in the order of their use."""
        idle = self._clock() - IDLE
        while self._sessions:
            name, oldest = next(iter(self._sessions.items()))
            if len(self._sessions) < MOST_SESSIONS and oldest.used >= idle:
                return
            del self._sessions[name]
            if oldest.outlet.delivering and len(self._sessions) < MOST_SESSIONS - 1:
                # Its client listens, which is a use as well.
                oldest.used = self._clock()
                self._sessions[name] = oldest
            else:
                self._over(oldest)

    def _over(self, session: OldSession) -> None:
        session.outlet.close()
        if self._ended is not None:
            self._ended(session.used - session.began)
