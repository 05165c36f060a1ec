"""Texts of the workspace: read in parts, searched, written, and changed where they are as they were last seen."""

import threading

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.file_lines import TextPart, part_from, part_from_end, text_of
from bascule.kit.connectors.files__file_search import Found, search
from bascule.kit.connectors.source import FileSource, path_of
from bascule.workspace.files import Entry

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
