"""Files of the workspace by their names, and lines in them by a text. There are no regular expressions: a model could
write one that never ends, and Python's cannot be stopped."""

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bascule.core.errors import UsageError
from bascule.kit.connectors.file_lines import bounded_lines
from bascule.workspace.workspace import Workspace

MAX_ENTRIES = 20_000
MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_PATTERN = 256
SHOWN = 300
"""Characters of a line that was found."""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """`line` is 0 if a file was found by its name alone."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    matches: tuple[FoundLine, ...]
    more: bool
    """Whether the search ended before it had seen everything."""


class _Bounds:
    """What one search may still look at."""

    def __init__(self, limit: int) -> None:
        self.matches = limit
        self.entries = MAX_ENTRIES
        self.bytes = MAX_BYTES

    @property
    def reached(self) -> bool:
        return self.matches < 0 or self.entries < 0 or self.bytes < 0


def search(workspace: Workspace, pattern: str, text: str, *, ignore_case: bool, limit: int) -> Found:
    """Files whose path fits the pattern, or lines in them that hold the text. Links are not followed, and what is no
    text is passed over."""
    if not 0 < len(pattern) <= MAX_PATTERN or len(text) > MAX_PATTERN or "\n" in text:
        raise UsageError(f"a search is for one line of at most {MAX_PATTERN} characters", fix="search for less of it")
    bounds = _Bounds(limit)
    found: list[FoundLine] = []
    for path in _paths(workspace, "", bounds, 0):
        if bounds.reached:
            break
        if not fits(path, pattern):
            continue
        for match in (
            _found_lines(workspace, path, text, bounds, ignore_case=ignore_case) if text else [FoundLine(path, 0, "")]
        ):
            bounds.matches -= 1
            if bounds.reached:
                break
            found.append(match)
    return Found(tuple(found), bounds.reached)


def fits(path: str, pattern: str) -> bool:
    """`*` and `?` stand for letters of one name, `**` for any folders. Without a slash, the name alone is looked at."""
    names, wanted = path.split("/"), pattern.removeprefix("/workspace/").strip("/").split("/")
    if len(wanted) == 1 and wanted != ["**"]:
        return fnmatch.fnmatchcase(names[-1], wanted[0])

    @cache
    def rest_fits(name: int, want: int) -> bool:
        if want == len(wanted):
            return name == len(names)
        if wanted[want] == "**":
            return rest_fits(name, want + 1) or (name < len(names) and rest_fits(name + 1, want))
        return name < len(names) and fnmatch.fnmatchcase(names[name], wanted[want]) and rest_fits(name + 1, want + 1)

    return rest_fits(0, 0)


def _paths(workspace: Workspace, folder: str, bounds: _Bounds, depth: int) -> Iterator[str]:
    for entry in workspace.list(folder or "/workspace"):
        bounds.entries -= 1
        if bounds.reached:
            return
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.kind == "file":
            yield path
        elif entry.kind == "folder" and depth < MAX_DEPTH:
            yield from _paths(workspace, path, bounds, depth + 1)


def _found_lines(
    workspace: Workspace, path: str, text: str, bounds: _Bounds, *, ignore_case: bool
) -> Iterator[FoundLine]:
    wanted = text.lower() if ignore_case else text
    with workspace.open(path, "rb") as file:
        for number, line in enumerate(bounded_lines(file), start=1):
            bounds.bytes -= len(line)
            if bounds.reached or b"\0" in line:
                return
            shown = line.decode(errors="replace").rstrip("\r\n")
            if wanted in (shown.lower() if ignore_case else shown):
                yield FoundLine(path, number, shown[:SHOWN])
