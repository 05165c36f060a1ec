"""All logins of one runtime: who is logged in where, found by server and user."""

from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from bascule.config import ServerConfig, SseTransport, StreamableHttpTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import UsageError
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.redirect import OnLogin
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Credentials, Target


class Logins:
    """A login is a person's: all agent sessions of one user share it, and no other user's do."""

    def __init__(self, vault: Vault, on_login: OnLogin | None, clock: Callable[[], float]) -> None:
        self._vault = vault
        self._on_login = on_login
        self._clock = clock
        self._made: dict[tuple[str, str], Credentials] = {}

    def of(self, server: ServerConfig, user_id: str, mask: Mask) -> Credentials | None:
        """The login of this user at this server. None for a server at which nobody logs in."""
        key = (server.name, user_id)
        if key not in self._made:
            target = target_of(server)
            if target is None:
                return None
            self._made[key] = Credentials(target, user_id, self._vault, mask, self._on_login, self._clock)
        return self._made[key]

    def drop(self, servers: Collection[str]) -> list[Credentials]:
        """Forget who is logged in at these servers: they may be elsewhere now. What is given back is to be closed."""
        dropped = [key for key in self._made if key[0] in servers]
        return [self._made.pop(key) for key in dropped]

    async def close(self) -> None:
        for credentials in self._made.values():
            await credentials.close()


def target_of(server: ServerConfig) -> Target | None:
    """Where to log in. What the operator sends as `Authorization`, or has printed, leaves nothing to log in for."""
    transport = server.transport
    if not isinstance(transport, StreamableHttpTransport | SseTransport) or server.headers_command is not None:
        return None
    if urlsplit(transport.url).scheme not in {"http", "https"} or "authorization" in map(str.lower, transport.headers):
        return None
    return Target(server.name, transport.url, reveal_all(transport.headers), server.oauth)


def no_login(server: ServerConfig) -> UsageError:
    """Why nobody logs in at a server."""
    if isinstance(server.transport, StreamableHttpTransport | SseTransport):
        return UsageError(
            f"{server.name} is given its credentials by the config",
            where=server.location,
            fix="remove headers.Authorization, or headers_command, to log in instead",
        )
    return UsageError(
        f"{server.name} is no remote server, so there is nothing to log in to",
        where=server.location,
        fix="name a server that has a `url`; one that is a command takes its credentials from `env`",
    )
