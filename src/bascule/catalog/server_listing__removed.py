"""Names of tools that are no longer there, so that a call of one is told from a call of what never was."""

from collections.abc import Iterable, Mapping
from itertools import islice

from bascule.catalog.entry import Entry
from bascule.core.tool import ToolStatus

MOST_REMOVED = 1000
"""Names kept for one server. One that renames its tools again and again must not fill memory; the oldest go first."""


class Removed:
    """What one server has removed of what agents were shown, by exposed name."""

    __slots__ = ("_tools",)

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._tools)

    def tool(self, name: str) -> str | None:
        """The server's own name for the tool that had this exposed name."""
        return self._tools.get(name)

    def follow(self, before: Mapping[str, Entry], now: Mapping[str, Entry], *, refuse: bool) -> None:
        """Take over what a new listing lacks, and forget what it has again.

        `refuse` says whether tools with findings are kept from agents: of those, as of hidden ones, nobody is told that
        they were there.
        """
        gone = (entry.spec for tool, entry in before.items() if tool not in now)
        shown = (spec for spec in gone if spec.status is ToolStatus.EXPOSED and not (refuse and spec.findings))
        self._forget(name for name, tool in self._tools.items() if tool in now)
        self._tools.update({spec.name: spec.key.tool for spec in shown})
        self._forget(islice(self._tools, max(0, len(self._tools) - MOST_REMOVED)))

    def _forget(self, names: Iterable[str]) -> None:
        for name in [*names]:
            del self._tools[name]
