"""What `bascule doctor` checks of what a config says: that packages are pinned, and that names mean one thing."""

from collections.abc import Iterable, Iterator

from bascule.cli.doctor.check import Check
from bascule.cli.mcp_registry.pinning import unpinned
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.core.tool import ToolSpec
from bascule.runtime.tool_search import PAIR


def pinning_checks(server: ServerConfig) -> Iterator[Check]:
    """Whether what a server's command fetches is of an exact version."""
    if isinstance(server.transport, StdioTransport):
        found = unpinned([server.transport.command, *server.transport.args])
        if found is not None:
            yield Check(f"package {server.name}", "warn", found[0], fix=found[1])


def name_checks(config: RuntimeConfig, specs: Iterable[ToolSpec]) -> Iterator[Check]:
    """Whether a server's own tool has a name of one of the two that find and call tools."""
    taken = [spec for spec in specs if spec.name in PAIR] if config.search_above is not None else []
    for spec in taken:
        told = f"`catalog.search_above` gives the name to a tool of ours: {spec.key} is reached through call_tool alone"
        yield Check(f"tool {spec.name}", "warn", told, fix=f"set `prefix` on the server {spec.key.server}")
