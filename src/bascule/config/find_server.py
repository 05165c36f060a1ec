"""Lookup of a server by name: upstream servers, which the runtime connects to, and kit servers, which are started
here."""

from collections.abc import Iterable

from bascule.config.model.kit_server import KitServer
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.problems import did_you_mean
from bascule.core.errors import ConfigError


def kit_server_named(config: RuntimeConfig, name: str) -> KitServer:
    """The server of ours that is started by this name. Raises `ConfigError` if there is none, or it cannot be used."""
    server = config.kit_servers.get(name)
    if server is None:
        other = config.servers.get(name)
        raise (
            _unknown(config, name, config.kit_servers, "is started here")
            if other is None
            else _is_connected_to(name, other)
        )
    if server.unavailable_reason is not None:
        raise server.unavailable_reason
    return server


def client_server_named(config: RuntimeConfig, name: str) -> ServerConfig:
    """The server that is connected to under this name. Raises `ConfigError` if there is none."""
    server = config.servers.get(name)
    if server is None:
        other = config.kit_servers.get(name)
        raise (
            _unknown(config, name, config.servers, "is connected to")
            if other is None
            else _is_started_here(name, other)
        )
    return server


def _is_connected_to(name: str, server: ServerConfig) -> ConfigError:
    return ConfigError(
        f"{name} is a server that is connected to, and not one that is started here",
        where=server.location,
        fix="for a server of your own, write an entry with `type: server` and a `target`",
    )


def _is_started_here(name: str, server: KitServer) -> ConfigError:
    return ConfigError(
        f"{name} is a server that is started here (`type: server`), and not one that is connected to",
        where=server.location,
        fix=f"to connect to it, write another entry with `url: {server.url}` and `kit: true`",
    )


def _unknown(config: RuntimeConfig, name: str, known: Iterable[str], kind: str) -> ConfigError:
    names = [*known]
    return ConfigError(
        f"there is no server {name!r} that {kind}{did_you_mean(name, names)}",
        where="" if config.path is None else str(config.path),
        fix=f"name one of {', '.join(names)}" if names else f"describe one that {kind} under `mcp_servers`",
    )
