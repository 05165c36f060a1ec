"""Tokens for servers of the kit: name the principal, live for minutes, and are valid at one server each."""

import time
from collections.abc import Callable, Mapping

from bascule.config.state_dir import (
    LANE_VARIABLE,
    RAISE_DESCRIPTOR_VARIABLE,
    RAISE_SOCKET_VARIABLE,
    WORKSPACE_VARIABLE,
)
from bascule.core.errors import LoginNeeded
from bascule.core.principal import Nobody, Principal
from bascule.core.request import Permit
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.identity.jwt.claims import AT_SPAWN, RESERVED, SPAWN_VARIABLE, audience_of_url
from bascule.identity.jwt.minting import KEY_VARIABLE, LIFE, Mint
from bascule.identity.oauth.challenge import Challenge
from bascule.sandbox.spec.box import RAISE_DESCRIPTOR, RAISE_SOCKET, WORKSPACE

FRESH = LIFE / 2
"""Seconds for which a token is shown. What is sent with it may be long on its way, and clocks differ."""


class ForKit:
    """Speaks for one principal."""

    def __init__(self, mint: Mint, principal: Principal, mask: Mask, surroundings: Mapping[str, str]) -> None:
        self._mint = mint
        self._surroundings = surroundings
        # Nobody goes by an id that no agent session has: a server must not take them for a user of that name.
        nobody = isinstance(principal, Nobody)
        self._principal = Principal(principal.user_id, RESERVED + principal.session_id) if nobody else principal
        self._mask = mask

    def at_spawn(self) -> dict[str, str]:
        """What a server finds in its environment that is started for this principal alone: for whom, and where state
        and workspaces are, so that it means the same ones as we do."""
        return {**self._surroundings, **self._named()}

    def in_box(self, lane: Lane) -> dict[str, str]:
        """The same for a server in a box of this lane. State is not shown there, so none of its folders is named: what
        the server learns of it, it asks for."""
        return {
            LANE_VARIABLE: lane.value,
            RAISE_SOCKET_VARIABLE: RAISE_SOCKET,
            RAISE_DESCRIPTOR_VARIABLE: str(RAISE_DESCRIPTOR),
            WORKSPACE_VARIABLE: WORKSPACE,
            **self._named(),
        }

    def _named(self) -> dict[str, str]:
        return {SPAWN_VARIABLE: self._token(AT_SPAWN), KEY_VARIABLE: str(self._mint.mark)}

    def at(self, url: str) -> "MintedHeader":
        """What a server at this address is shown with every request."""
        audience = audience_of_url(url)
        return MintedHeader(lambda: self._token(audience), url)

    def _token(self, audience: str) -> str:
        token = self._mint.token(self._principal, audience)
        # A server may repeat in an error what it was shown.
        self._mask.learn(token)
        return token


class MintedHeader:
    """The header that says who asks, made anew before it is spent. Nothing has to be asked of anybody for it."""

    others: Mapping[str, str] = {}

    def __init__(self, mint: Callable[[], str], url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._mint = mint
        self._url = url
        self._clock = clock
        self._header = ""
        self._until = float("-inf")

    def header(self) -> str:
        if self._clock() >= self._until:
            self._renew()
        return self._header

    async def prepare(self, _leave: Permit | None = None) -> str:
        return self.header()

    async def renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None = None) -> None:
        """Once: what is refused anew is refused for another reason than its age."""
        del leave
        if again or challenge.lacks_scope:
            raise self.needed(used, challenge)
        self._renew()

    def needed(self, used: str, challenge: Challenge) -> LoginNeeded:
        del used
        lacking = " (it wants more rights)" if challenge.lacks_scope else ""
        return LoginNeeded(
            f"the server does not believe the token that was minted for it{lacking}",
            cause="it is reached at another address than it thinks, or has another state folder than we do",
            fix="give the server's own `url` as the address here, and the same BASCULE_HOME to both",
        )

    def _renew(self) -> None:
        self._header = f"Bearer {self._mint()}"
        self._until = self._clock() + FRESH
