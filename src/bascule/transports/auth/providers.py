"""Credential providers: OAuth login, kit token or header command of a principal for each server; or the principal
itself, for an object in this process."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.principal import Nobody, Principal
from bascule.core.text.redaction import Mask
from bascule.transports.auth.header_command import HeaderCommands
from bascule.transports.auth.oauth_credentials import Logins
from bascule.transports.auth_headers import SaysWho

if TYPE_CHECKING:
    from bascule.identity.jwt.minting import Mint
    from bascule.transports.auth.kit_tokens import ForKit

NONE: Mapping[str, str] = {}


class Who(NamedTuple):
    """On whose behalf a connection is made, in every way in which a server may be told."""

    login: SaysWho | None = None
    """Who we are to a remote server."""
    told: "ForKit | None" = None
    """What a server of our kit is told."""
    principal: Principal | None = None
    unnamed: "ForKit | None" = None
    """What a server of our kit that listens is shown by who asks for nobody in particular: it lists what it has only to
    those it believes. One that is started is told nothing, so that it does nothing for anybody."""

    printed: SaysWho | None = None
    """What a program of the operator's prints for them."""

    def at(self, url: str) -> SaysWho | None:
        return self.token_at(url) or self.login

    def token_at(self, url: str) -> SaysWho | None:
        """A token of ours for a server of our kit at this address."""
        told = self.told or self.unnamed
        return told.at(url) if told is not None else None


class Introducing:
    """Introduces principals to the servers of one runtime. Without a mint no server of our kit is told who asks."""

    def __init__(
        self,
        logins: Logins,
        mint: "Callable[[], Mint] | None" = None,
        *,
        surroundings: Mapping[str, str] = NONE,
        log_in: bool = True,
        commands: HeaderCommands | None = None,
    ) -> None:
        self.logins = logins
        self.commands = commands or HeaderCommands()
        self._mint = mint
        self._surroundings = surroundings
        """What a server of our kit that we start finds in its environment, whoever asks."""
        self._log_in = log_in

    @property
    def without_logins(self) -> "Introducing":
        """For a twin: it is no place to take a login to."""
        return Introducing(
            self.logins, self._mint, surroundings=self._surroundings, log_in=False, commands=self.commands
        )

    def of(self, server: ServerConfig, principal: Principal, mask: Mask) -> Who:
        """What is secret of it is hidden by `mask`."""
        if isinstance(principal, Nobody):
            # What is nobody's in particular must not use the login of whoever happens to have that name.
            return Who(self._login(server, f"\0{principal}", mask), unnamed=self._told(server, principal, mask))
        printed = self.commands.of(server, principal, mask) if self._log_in else None
        login = printed or self._login(server, principal.user_id, mask)
        return Who(login, self._told(server, principal, mask), principal, printed=printed)

    def _login(self, server: ServerConfig, user: str, mask: Mask) -> SaysWho | None:
        return self.logins.of(server, user, mask) if self._log_in else None

    def _told(self, server: ServerConfig, principal: Principal, mask: Mask) -> "ForKit | None":
        if self._mint is None or not server.kit:
            return None
        from bascule.transports.auth.kit_tokens import ForKit  # noqa: PLC0415 -- most runtimes have no such server

        return ForKit(self._mint(), principal, mask, self._surroundings)


def mint_of(state: Path) -> "Mint":
    """The mint of tokens for kit servers, with the key in the state folder."""
    from bascule.identity.jwt.minting import Mint  # noqa: PLC0415 -- most runtimes have no such server

    return Mint.of(state)
