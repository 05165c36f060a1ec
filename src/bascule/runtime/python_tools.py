"""Python functions of a program as a server of their own, configured and governed like any other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from bascule.config import InProcessTransport, NativeTransport, RuntimeConfig, ServerConfig
from bascule.core.errors import UsageError

NOT_OURS = ("isolated", "vouched", "sandbox", "kit", "oauth", "twin")
"""What can be said of a server that is somewhere else, and of functions in this process means nothing."""

NONE = frozenset[Any]()


def native_server(name: str, functions: Iterable[Callable[..., Any]], **settings: Any) -> ServerConfig:
    """A server of these functions. The settings are those of `ServerConfig`: `raises`, `ask`, `limits`, `timeouts` and
    the like. What `tool` says that a function may do is the program's word, and counts as an operator's map does; what
    stands in `permissions` beside it only tightens it. Raises `UsageError` where a function cannot be a tool."""
    from bascule.transports.inprocess.python_tool import native_tools  # noqa: PLC0415 -- most runtimes have none

    odd = [setting for setting in NOT_OURS if setting in settings]
    if odd:
        raise UsageError(f"{odd[0]} means nothing for functions of this program", fix=f"leave it out for {name}")
    tools = native_tools(functions)
    if not tools:
        raise UsageError(f"the native server {name!r} has no functions", fix="give it one at least")
    # A program that wants its own run to end is believed.
    trust: frozenset[Any] = frozenset(settings.pop("trust", NONE)) | {"fatal"}
    made = ServerConfig(name=name, transport=NativeTransport(tools), trust=trust, **settings)
    said = {tool.name: tool.permissions for tool in tools if tool.permissions is not None}
    joined = {tool: classes | made.permissions.get(tool, NONE) for tool, classes in said.items()}
    return replace(made, permissions={**made.permissions, **joined})


def natives_of(config: RuntimeConfig) -> frozenset[str]:
    return frozenset(name for name, server in config.servers.items() if isinstance(server.transport, NativeTransport))


def with_natives(config: RuntimeConfig, natives: Mapping[str, ServerConfig]) -> RuntimeConfig:
    """The config, with these beside its servers. Raises `UsageError` where one of them is there already."""
    both = sorted(config.servers.keys() & natives.keys())
    if both:
        raise UsageError(
            f"a server is called {both[0]!r} in the config, and functions of this program are too",
            fix="give one of them another name",
        )
    return replace(config, servers={**config.servers, **natives}) if natives else config


def as_config(name: str, server: ServerConfig | Any) -> ServerConfig:
    """A config, a server object that lives in this process, or a list of functions, as a config."""
    if isinstance(server, list | tuple):
        return native_server(name, cast("Sequence[Callable[..., Any]]", server))
    if not isinstance(server, ServerConfig):
        return ServerConfig(name=name, transport=InProcessTransport(server))
    if server.name != name:
        raise UsageError(f"the server called {name!r} has a config named {server.name!r}", fix="use one name for both")
    return server
