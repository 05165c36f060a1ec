"""The tools of a section: made of what the session is offered, and made anew only where that has changed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weakincentives.prompt import Tool

from bascule.bridges.weakincentives.errors import McpSchemaError
from bascule.bridges.weakincentives.naming import lowered
from bascule.core.tool import ToolSpec

Make = Callable[[str, ToolSpec], Tool[Any, Any]]
"""Makes a tool of this name. Raises `McpSchemaError` where that cannot be."""


class SectionTools:
    """The tools that a section has now. It is replaced as a whole: who looks at it meanwhile sees one listing or the
    other."""

    def __init__(
        self, made: Mapping[str, tuple[ToolSpec, Tool[Any, Any]]], refused: tuple[McpSchemaError, ...]
    ) -> None:
        self._made = made
        self.refused = refused
        self.all = tuple(tool for _, tool in made.values())

    def following(self, offered: Iterable[ToolSpec], make: Make) -> "SectionTools":
        """Those of another listing. What did not change stays the same tool. Raises `McpSchemaError` where two tools
        would have one name; others that cannot be made are left out, and told."""
        made: dict[str, tuple[ToolSpec, Tool[Any, Any]]] = {}
        refused: list[McpSchemaError] = []
        for name, spec in lowered(offered).items():
            kept = self._made.get(name)
            try:
                made[name] = kept if kept is not None and kept[0] == spec else (spec, make(name, spec))
            except McpSchemaError as error:
                refused.append(error)
        return SectionTools(made, tuple(refused))

    def spec(self, name: str) -> ToolSpec:
        return self._made[name][0]

    def by_server(self, servers: Iterable[str]) -> dict[str, dict[str, ToolSpec]]:
        """The tools of each server by name, also of those that have none."""
        found: dict[str, dict[str, ToolSpec]] = {server: {} for server in servers}
        for name, (spec, _) in self._made.items():
            found.setdefault(spec.key.server, {})[name] = spec
        return found


NO_TOOLS = SectionTools({}, ())
