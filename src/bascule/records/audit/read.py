"""Reader of an audit log: the records of all chains in order of time, also while runtimes write."""

import heapq
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, BinaryIO

import msgspec

from bascule.core.errors import StoreError
from bascule.files.regular_file import open_regular
from bascule.store.audit.chain import head_of
from bascule.store.audit.folder import AuditFolder, unusable, writer_of

TRIES = 20
"""How often the files of a chain are looked for, where one becomes full and another begins meanwhile."""


_BESIDE = frozenset({"seq", "at", "kind", "mac"})


class Entry(msgspec.Struct, frozen=True):
    """A record as it stands in the log. That it is true is another question."""

    writer: str
    seq: int
    at: float
    kind: str
    fields: dict[str, Any]
    """All that it tells beside these."""


class AuditReading:
    """A log that is read. `unreadable` counts the lines that are no records."""

    def __init__(self, folder: AuditFolder) -> None:
        self._folder = folder
        self.unreadable = 0

    def entries(self) -> Iterator[Entry]:
        """Of all chains, by time. Within a chain the order is that of the chain."""
        id_ = self._folder.id() or "?"
        slots = self._folder.files()
        return heapq.merge(*(self._of(slot, writer_of(id_, slot)) for slot in slots), key=lambda entry: entry.at)

    def _of(self, slot: str, writer: str) -> Iterator[Entry]:
        with ExitStack() as stack:
            for file in open_files(self._folder, slot, stack).values():
                for line in whole_lines(file):
                    entry = _read(line, writer)
                    if entry is not None:
                        yield entry
                    elif line.endswith(b"\n"):
                        self.unreadable += 1


def open_files(folder: AuditFolder, slot: str, stack: ExitStack) -> Mapping[str, BinaryIO]:
    """The files of a slot, by name and in order, all of one moment: none became full while they were opened."""
    for _ in range(TRIES):
        paths = folder.files().get(slot, [])
        with ExitStack() as trying:
            try:
                files = {path.name: trying.enter_context(open_regular(path)) for path in paths}
            except FileNotFoundError:
                continue
            except OSError as error:
                raise unusable(folder.path, error) from error
            if folder.files().get(slot, []) == paths:
                stack.push(trying.pop_all())
                return files
    raise StoreError(
        f"the audit log of slot {slot} cannot be read: its files change all the time", fix="look again later"
    )


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file as it is now: what is added meanwhile is not waited for. Only the last may lack its end."""
    left = os.fstat(file.fileno()).st_size
    for line in file:
        if left <= 0:
            return
        yield line[:left]
        left -= len(line)


def _read(line: bytes, writer: str) -> Entry | None:
    if not line.endswith(b"\n"):
        return None
    head = head_of(line)
    if head is None:
        return None
    fields: dict[str, Any] = msgspec.json.decode(line)
    told = {name: value for name, value in fields.items() if name not in _BESIDE}
    return Entry(writer, head.seq, head.at, head.kind, told)
