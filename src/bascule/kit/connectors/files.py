"""File connector: texts of the workspace are read in parts, searched, written, and edited only where they are unchanged
since they were read."""

import fnmatch
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.file_lines import TextPart, bounded_lines, part_from, part_from_end, text_of
from bascule.kit.connectors.source import FileSource, path_of
from bascule.workspace.files import Entry
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
    """Files whose path fits the pattern, or lines in them that contain the text. Links are not followed, and files that
    are no text are skipped. No regular expressions: a model could write one that never ends, and Python cannot stop
    it."""
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


MAX_WRITTEN = 8 * 1024 * 1024
"""Bytes of a text that is written or edited at once."""

MOST_LINES = 5000

_EDITING = threading.Lock()
"""Between reading a text and writing it, nobody else of this process may edit one: one of two edits would be lost."""


class FilesConnector(Connector):
    @staticmethod
    def read(file: str | FileSource, offset: int = 1, limit: int = 1000) -> TextPart:
        """Lines from the number `offset` on."""
        _check(offset, "offset", 1, 2**53)
        _check(limit, "limit", 1, MOST_LINES)
        path = path_of(file)
        with Connector.workspace().open(path, "rb") as opened:
            return part_from(opened, path, offset, limit)

    @staticmethod
    def head(file: str | FileSource, lines: int = 20) -> TextPart:
        return FilesConnector.read(file, 1, lines)

    @staticmethod
    def tail(file: str | FileSource, lines: int = 20) -> TextPart:
        """Reads only the end, however large the file is."""
        _check(lines, "lines", 1, MOST_LINES)
        path = path_of(file)
        with Connector.workspace().open(path, "rb") as opened:
            return part_from_end(opened, path, lines)

    @staticmethod
    def write(path: str, text: str) -> int:
        """The whole file, in one step. Gives the bytes written."""
        data = _encoded(text)
        Connector.workspace().write_bytes(path, data)
        return len(data)

    @staticmethod
    def append(path: str, text: str) -> int:
        data = _encoded(text)
        with Connector.workspace().open(path, "ab") as opened:
            opened.write(data)
        return len(data)

    @staticmethod
    def edit_lines(path: str, first: int, last: int, expected: str, text: str) -> TextPart:
        """Puts `text` in the place of the lines `first` to `last`, if they still are as `expected`. With `last` one
        less than `first` nothing is expected, and it is put before that line. Gives the new lines."""
        workspace = Connector.workspace()
        with _EDITING:
            with workspace.open(path, "rb") as opened:
                data = opened.read(MAX_WRITTEN + 1)
            if len(data) > MAX_WRITTEN:
                raise UsageError(
                    f"{path} is too large to be edited", where=path, evidence=f"more than {MAX_WRITTEN} bytes"
                )
            lines = _lines(text_of(data, path))
            new = _edited(path, lines, (first, last), expected, text)
            workspace.write_bytes(path, _encoded("".join([*lines[: first - 1], new, *lines[last:]])))
        return TextPart(new, first, len(_lines(new)), last < len(lines))

    @staticmethod
    def find(pattern: str = "**", text: str = "", *, ignore_case: bool = False, limit: int = 200) -> Found:
        """Files by a pattern such as `*.py` or `src/**/test_*.py`, and with `text` the lines in them that hold it."""
        _check(limit, "limit", 1, MOST_LINES)
        return search(Connector.workspace(), pattern, text, ignore_case=ignore_case, limit=limit)

    @staticmethod
    def list(path: str = "/workspace") -> tuple[Entry, ...]:
        return Connector.workspace().list(path)


def _edited(path: str, lines: "list[str]", place: tuple[int, int], expected: str, text: str) -> str:
    first, last = place
    if not (1 <= first <= last + 1 <= len(lines) + 1):
        raise UsageError(
            "there are no such lines", where=path, evidence=f"{first} to {last} of {len(lines)}", fix="read it again"
        )
    old = "".join(lines[first - 1 : last])
    if _plain(old) != _plain(expected):
        raise UsageError(
            f"lines {first} to {last} are not what was expected; nothing was changed",
            where=path,
            evidence=old[:500],
            cause="the file has changed since it was read",
            fix="read these lines again, then edit",
        )
    end = "\r\n" if (lines and lines[0].endswith("\r\n")) else "\n"
    new = text.replace("\r\n", "\n").replace("\n", end)
    if first > len(lines) > 0 and not lines[-1].endswith("\n"):
        return end + new
    # The next line must stay one of its own.
    return new + end if new and not new.endswith(end) and (last < len(lines) or old.endswith("\n")) else new


def _lines(text: str) -> "list[str]":
    """With their ends, counted as they are when they are read: there are more line ends in Unicode than in files."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _plain(text: str) -> str:
    """Without what a model cannot see: how lines end, and whether the last one does."""
    return text.replace("\r\n", "\n").removesuffix("\n")


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("this text holds half a character", evidence=f"at {error.start}") from None
    if len(data) > MAX_WRITTEN:
        raise UsageError(
            "this is too much to be written at once", evidence=f"{len(data)} bytes", fix="append it in parts"
        )
    return data


def _check(number: int, name: str, least: int, most: int) -> None:
    if not least <= number <= most:
        raise UsageError(f"{name} must be from {least} to {most}", evidence=str(number)[:40])
