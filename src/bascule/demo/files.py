"""Built-in MCP server that reads the files of one folder. The first line of a file may name its sensitivity level,
which labels the result."""

import sys
from pathlib import Path
from typing import Any

from bascule.kit.stdio_server import Labelled, Tool, ToolError, serve

MARK = "classification:"
"""What the first line of a private file begins with. What stands behind it is the label."""

MOST = 64 * 1024
"""Bytes that are read of a file."""


class Folder:
    """The files that are offered: those that lie in it, and none below."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> dict[str, Any]:
        return {"files": sorted(path.name for path in self._path.iterdir() if path.is_file())}

    def read(self, name: str) -> Labelled | dict[str, Any]:
        # A name that leads elsewhere is none of these.
        if name not in self.names()["files"]:
            raise ToolError(f"there is no file {name!r:.100}")
        with (self._path / name).open("rb") as file:
            text = file.read(MOST).decode(errors="replace")
        found = {"name": name, "text": text}
        head = text.partition("\n")[0].lower()
        return Labelled(found, head.removeprefix(MARK).strip()) if head.startswith(MARK) else found


def tools(folder: Folder) -> tuple[Tool, ...]:
    name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return (
        Tool("list", "Name the files there are.", {"type": "object", "properties": {}}, folder.names, ("read",)),
        Tool("read", "Read a file.", name, folder.read, ("read",)),
    )


if __name__ == "__main__":
    serve("files", tools(Folder(Path(sys.argv[1]))))
