"""Sessions of the old era: who has introduced themselves, and which of their requests are under way."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from bascule.core.jsonvalue import JsonObject
from bascule.core.principal import Principal
from bascule.gateway.attention import Attention
from bascule.gateway.outlet import Outlet
from bascule.gateway.session_seal import SessionSeal
from bascule.wire.jsonrpc import Message

MOST_SESSIONS = 10_000
"""Sessions that are remembered. The one that was used longest ago is forgotten first; its client begins anew."""

IDLE = 3600.0
"""Seconds after which a session that nobody uses is forgotten."""


class OldSession(msgspec.Struct):
    """One of them. Whoever began it, and nobody else, goes on with it."""

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


class OldSessions:
    """All of them, each under an id that cannot be guessed."""

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
