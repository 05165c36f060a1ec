"""The config of a server under test: that of an operator who takes the author's word for everything."""

from typing import TYPE_CHECKING, Any, TypeGuard

from bascule.config import InProcessTransport, ServerConfig
from bascule.config.names import fold_name
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.permission import read_permissions

if TYPE_CHECKING:
    from bascule.kit.server import GovernedServer

TRUST = frozenset({"permissions", "labels", "fatal"})


async def trusting_config(name: str, server: Any, rules: dict[str, Any]) -> ServerConfig:
    """`rules` are keys of `ServerConfig`, and stand above what is said here."""
    if isinstance(server, ServerConfig):
        return server
    said: dict[str, Any] = {"vouched": DataSensitivity.SECRET, "trust": TRUST}
    if is_kit_server(server):
        said |= {"kit": True, "permissions": await _declared(server)}
    return ServerConfig(name=name, transport=InProcessTransport(server), **{**said, **rules})


def name_of(server: Any) -> str:
    """What a server calls itself, as a name of ours."""
    given = getattr(server, "name", None)
    return fold_name(given) if isinstance(given, str) and given else "server"


def is_kit_server(server: Any) -> "TypeGuard[GovernedServer]":
    try:
        from bascule.kit.server import GovernedServer  # noqa: PLC0415 -- FastMCP takes a second, and is an extra
    except ModuleNotFoundError as error:
        if error.name != "fastmcp":
            raise
        return False
    return isinstance(server, GovernedServer)


async def _declared(server: "GovernedServer") -> dict[str, frozenset[Permission]]:
    """What its tools say that they do. A runtime believes an operator only, so it is put into the operator's mouth."""
    tools = await server.list_tools(run_middleware=False)
    return {tool.name: read_permissions(tool.meta) or frozenset() for tool in tools}
