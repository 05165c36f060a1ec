"""Where a file keeps its servers, and so whose file it is."""

from dataclasses import dataclass
from typing import Any

from bascule.config.problems import KeyPath
from bascule.core.json_types import JsonObject, is_object

_REACH = {"command", "url", "httpUrl", "serverUrl"}
"""Keys that only an entry of a server has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One layout. `key` holds the servers; without one they stand at the root."""

    key: str | None
    foreign: bool

    @property
    def path(self) -> KeyPath:
        return () if self.key is None else (self.key,)


SHAPES = (Shape("mcp_servers", foreign=False), Shape("mcpServers", foreign=True), Shape("servers", foreign=True))
BARE = Shape(None, foreign=True)


def shape_of(root: JsonObject) -> Shape | None:
    """The layout of a file; nothing if no servers can be found in it."""
    for shape in SHAPES:
        if shape.key in root and not is_server(root[shape.key]):
            return shape
    return BARE if any(is_server(value) for value in root.values()) else None


def is_server(value: Any) -> bool:
    """Whether this is the description of one server, and not a mapping of several."""
    return is_object(value) and any(isinstance(value.get(key), str) for key in _REACH)
