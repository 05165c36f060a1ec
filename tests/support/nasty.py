"""Servers that leave processes behind in every nasty way, and what is left of them."""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bascule.config import ServerConfig, StdioTransport, Timeouts
from servers.nasty import BOMB, KINDS
from support.servers import argv
from support.survivors import end_all
from support.waiting import until


class Nasties:
    """One server of each kind, all marked, and how many of their processes are up."""

    def __init__(self, folder: Path, *arguments: str, copies: int = 1, kinds: tuple[str, ...] = tuple(KINDS)) -> None:
        self._folder = folder
        self._arguments = arguments
        self.names = [(kind, f"{kind}-{number}") for kind in kinds for number in range(copies)]
        self.marker = f"NASTY={uuid.uuid4()}"

    def configs(self, timeouts: Timeouts) -> dict[str, ServerConfig]:
        return {
            name: ServerConfig(name, StdioTransport(**self._entry(kind, name)), timeouts=timeouts)
            for kind, name in self.names
        }

    def entries(self) -> dict[str, Any]:
        """The same, as a config file names them."""
        return {name: self._entry(kind, name) for kind, name in self.names}

    def _entry(self, kind: str, name: str) -> dict[str, Any]:
        program, *rest = argv("nasty", kind, self._folder / name, *self._arguments)
        variable, _, value = self.marker.partition("=")
        return {"command": program, "args": tuple(rest), "env": {variable: value}}

    def up(self) -> bool:
        return all(self._count(name) == (BOMB if kind == "fork-bomb" else 1) for kind, name in self.names)

    def _count(self, name: str) -> int:
        file = self._folder / name
        return len(file.read_text().splitlines()) if file.exists() else 0

    async def all_up(self) -> None:
        await until(self.up, 60)


@contextmanager
def nasties(
    folder: Path, *arguments: str, copies: int = 1, kinds: tuple[str, ...] = tuple(KINDS)
) -> Generator[Nasties]:
    """Whatever a test has failed to end is ended with it."""
    made = Nasties(folder, *arguments, copies=copies, kinds=kinds)
    try:
        yield made
    finally:
        end_all(made.marker)
