"""Authentication of MCP clients: maps a bearer token to the endpoint of its agent session, and caches verified tokens.
`Guests` are the demo agents beside the development identity (`bascule serve --demo`)."""

import asyncio
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import msgspec

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError, NotIdentified
from bascule.core.principal import Principal
from bascule.gateway.limits import Allowance, Strangers
from bascule.gateway.mcp.handler import Desk
from bascule.identity.jwt.verifier import Believes
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession


class Guests:
    """Principals of demo agents beside the development principal. Each has a random bearer token of its own."""

    def __init__(self) -> None:
        self._principals: dict[str, Principal] = {}

    def who(self, authorization: str) -> Principal | None:
        return self._principals.get(authorization)

    @contextmanager
    def invited(self, principal: Principal) -> Generator[str]:
        """Its `Authorization` header, which counts until the end of the block."""
        word = f"Bearer {secrets.token_urlsafe(32)}"
        self._principals[word] = principal
        try:
            yield word
        finally:
            del self._principals[word]


BELIEVED_FOR = 60.0
"""Seconds for which a token that was verified is believed without another look: so long a key that was taken back still
opens the door. A token whose own time is up is never believed."""

MOST_KNOWN = 10_000
"""Tokens that are remembered. More are verified each time they are shown."""

IDLE = 300.0
"""Seconds after which an agent session that asks for nothing, and has no link open, is forgotten here. How private it
is stays in the store; when it comes back, it is read there."""

MOST_DESKS = 10_000
"""Agent sessions that are remembered although they ask for nothing."""

LOOK_EVERY = 60.0
"""Seconds after which it is looked who is idle, when somebody new comes."""

AT_ONCE = 1.0
"""The same where there are too many."""

SCHEME = "bearer "

TOKEN_SHOWN = "token_shown"  # noqa: S105 -- the name of a rule
"""The rule by which who shows no token at all is turned away. Nothing had to be looked at for it."""
VOUCHED = "\0"
"""In the place of a token that was shown to another gateway, which sees to it that it lasts. No header can say this."""


class Known(msgspec.Struct, frozen=True):
    """A token that was verified."""

    desk: Desk
    until: float
    """How long it is believed without another look."""
    expires_at: float


class Callers:
    """Everyone who asks. Without a verifier there is one principal for everybody, which only this machine may be."""

    def __init__(
        self,
        runtime: Runtime,
        believes: Believes | None,
        clock: Callable[[], float],
        *,
        development: Principal | None = None,
        guests: Guests | None = None,
    ) -> None:
        if (believes is None) == (development is None):
            raise ValueError("either tokens say who asks, or one principal stands for everybody")
        if guests is not None and development is None:
            raise ValueError("there are guests only where one principal stands for everybody else")
        self._runtime = runtime
        self._believes = believes
        self._clock = clock
        self._development = development
        self._guests = guests
        self._known: dict[str, Known] = {}
        self._desks: dict[Principal, Desk] = {}
        self._looked = clock()
        self.strangers = Strangers(clock)

    def known(self, authorization: str) -> Desk | None:
        """The desk of a token that was shown before, if that still counts."""
        if self._development is not None:
            guest = self._guests.who(authorization) if self._guests is not None else None
            return self.desk(guest or self._development)
        known = self._known.get(authorization)
        return known.desk if known is not None and self._clock() < known.until else None

    async def find(self, authorization: str, address: str = "") -> Desk:
        """Raises `NotIdentified` for nobody, and for anybody who cannot prove it; `TooMuch` where so many from this
        address could not that no other is asked. Who has proved it before is asked all the same."""
        desk = self.known(authorization)
        return desk if desk is not None else (await self._verified(authorization, address)).desk

    async def lasts(self, authorization: str) -> None:
        """Returns once a token that was believed is no longer. It is looked at again as if it were shown again."""
        if self._development is not None or authorization == VOUCHED:
            await asyncio.get_running_loop().create_future()
        while True:
            known = self._known.get(authorization)
            if known is None or known.until <= self._clock():
                try:
                    known = await self._verified(authorization)
                except BasculeError:
                    return
            left = known.until - self._clock()
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def _verified(self, authorization: str, address: str = "") -> Known:
        assert self._believes is not None
        token = _token(authorization)
        if token and not self._was_believed(authorization):
            self.strangers.check(address)
        identity = await self._believes.verify(token)
        now = self._clock()
        until = min(identity.expires_at, now + BELIEVED_FOR)
        known = Known(self.desk(identity.principal), until, identity.expires_at)
        if len(self._known) >= MOST_KNOWN:
            self._known = {token: known for token, known in self._known.items() if now < known.until}
        if len(self._known) < MOST_KNOWN:
            self._known[authorization] = known
        return known

    def admit(self, desk: Desk) -> None:
        """Count a request as under way. Raises `TooMuch`."""
        desk.allowance.enter(self._clock())

    async def close(self) -> None:
        if self._believes is not None:
            await self._believes.aclose()

    def _was_believed(self, authorization: str) -> bool:
        known = self._known.get(authorization)
        return known is not None and self._clock() < known.expires_at

    @property
    def servers(self) -> Mapping[str, ServerConfig]:
        """Those that are configured now."""
        return self._runtime.config.servers

    def desk(self, principal: Principal) -> Desk:
        """Of one who is known."""
        desk = self._desks.get(principal)
        if desk is None:
            self._forget()
            session = self._runtime.session(principal.user_id, principal.session_id)
            desk = self._desks[principal] = _desk_of(session, self._runtime)
            if self._development is not None:
                desk.allowance = Allowance(everybody=True)
        return desk

    def _forget(self) -> None:
        """Let go of who is idle, before somebody new comes."""
        now = self._clock()
        crowded = len(self._desks) >= MOST_DESKS
        if now - self._looked < (AT_ONCE if crowded else LOOK_EVERY):
            return
        self._looked = now
        idle = [desk for desk in self._desks.values() if desk.allowance.under_way == 0]
        idle.sort(key=lambda desk: desk.allowance.used)
        # A tenth of them, lest every newcomer has all of them looked through.
        spare = len(self._desks) - MOST_DESKS * 9 // 10 if crowded else 0
        gone = {
            desk.session.principal
            for number, desk in enumerate(idle)
            if (number < spare or desk.allowance.used + IDLE < now) and self._runtime.forget(desk.session.principal)
        }
        for principal in gone:
            del self._desks[principal]
        if gone:
            # Their tokens lead to desks at which nobody is any more.
            self._known = {
                token: known for token, known in self._known.items() if known.desk.session.principal not in gone
            }


def _desk_of(session: AgentSession, runtime: Runtime) -> Desk:
    if runtime.telemetry is None:
        return Desk(session, runtime.seal)
    from bascule.gateway.mcp.tracing import TracedDesk  # noqa: PLC0415 -- most gateways are not watched

    return TracedDesk(session, runtime.seal, runtime.telemetry)


def _token(authorization: str) -> str | None:
    if not authorization:
        return None
    if authorization[: len(SCHEME)].lower() != SCHEME:
        raise NotIdentified(
            "the Authorization header is not of the kind Bearer",
            rule=TOKEN_SHOWN,
            fix="send the header `Authorization: Bearer …` with a token",
        )
    return authorization[len(SCHEME) :].strip()
