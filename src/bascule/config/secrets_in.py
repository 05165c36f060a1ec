"""All secret values of a config, for redaction of log lines and errors."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from bascule.config.model.auth import AuthSettings, SharedSecret
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.model.transport import secrets_of
from bascule.config.secret import Secret


def secrets_in(config: RuntimeConfig) -> Iterator[str]:
    for server in config.servers.values():
        yield from secrets_of(server.transport)
        yield from server.oauth.secrets
    for own in config.kit_servers.values():
        yield from _keys(own.auth)
    yield from _keys(config.gateway.auth)
    if config.dashboard.token is not None:
        yield config.dashboard.token.reveal()
    yield from _of_store(config.store)


def _keys(auth: AuthSettings) -> Iterator[str]:
    for key in auth.keys:
        if isinstance(key, SharedSecret):
            yield key.secret.reveal() if isinstance(key.secret, Secret) else key.secret


def _of_store(store: str | None) -> Iterator[str]:
    """The password of a database, as it is written and as it is meant."""
    if store is None or "://" not in store:
        return
    password = urlsplit(store).password
    if password:
        yield password
        yield unquote(password)
