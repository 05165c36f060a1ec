"""Who asks: from the token a client shows to the desk of its agent session."""

from collections.abc import Callable, Mapping

import msgspec

from bascule.config.model import ServerConfig
from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.gateway.desk import Desk
from bascule.identity.verifier import Believes
from bascule.runtime.runtime import Runtime

BELIEVED_FOR = 60.0
"""Seconds for which a token that was verified is believed without another look: so long a key that was taken back still
opens the door. A token whose own time is up is never believed."""

MOST_KNOWN = 10_000
"""Tokens that are remembered. More are verified each time they are shown."""

SCHEME = "bearer "


class Known(msgspec.Struct, frozen=True):
    """A token that was verified."""

    desk: Desk
    until: float


class Callers:
    """Everyone who asks. Without a verifier there is one principal for everybody, which only this machine may be."""

    def __init__(
        self,
        runtime: Runtime,
        believes: Believes | None,
        clock: Callable[[], float],
        *,
        development: Principal | None = None,
    ) -> None:
        if (believes is None) == (development is None):
            raise ValueError("either tokens say who asks, or one principal stands for everybody")
        self._runtime = runtime
        self._believes = believes
        self._clock = clock
        self._development = development
        self._known: dict[str, Known] = {}
        self._desks: dict[Principal, Desk] = {}

    def known(self, authorization: str) -> Desk | None:
        """The desk of a token that was shown before, if that still counts."""
        if self._development is not None:
            return self.desk(self._development)
        known = self._known.get(authorization)
        return known.desk if known is not None and self._clock() < known.until else None

    async def find(self, authorization: str) -> Desk:
        """Raises `NotIdentified` for nobody, and for anybody who cannot prove it."""
        desk = self.known(authorization)
        if desk is not None:
            return desk
        assert self._believes is not None
        identity = await self._believes.verify(_token(authorization))
        desk = self.desk(identity.principal)
        now = self._clock()
        if len(self._known) >= MOST_KNOWN:
            self._known = {token: known for token, known in self._known.items() if now < known.until}
        if len(self._known) < MOST_KNOWN:
            self._known[authorization] = Known(desk, min(identity.expires_at, now + BELIEVED_FOR))
        return desk

    async def close(self) -> None:
        if self._believes is not None:
            await self._believes.aclose()

    @property
    def servers(self) -> Mapping[str, ServerConfig]:
        """Those that are configured now."""
        return self._runtime.config.servers

    def desk(self, principal: Principal) -> Desk:
        """Of one who is known."""
        desk = self._desks.get(principal)
        if desk is None:
            session = self._runtime.session(principal.user_id, principal.session_id)
            desk = self._desks[principal] = Desk(session)
        return desk


def _token(authorization: str) -> str | None:
    if not authorization:
        return None
    if authorization[: len(SCHEME)].lower() != SCHEME:
        raise NotIdentified(
            "the Authorization header is not of the kind Bearer",
            rule="token_shown",
            fix="send the header `Authorization: Bearer …` with a token",
        )
    return authorization[len(SCHEME) :].strip()
