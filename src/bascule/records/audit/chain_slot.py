"""Slot of the audit log: one chain, held by one runtime at a time and continued by the next. Only the tail of the
chain's files is read."""

import os
from collections.abc import Mapping, Sequence
from itertools import count, islice
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.files.regular_file import open_regular, regular_descriptor
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.chain import Chain, Macs, head_of, split
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import MOST_SLOTS, AuditFolder, unusable, writer_of
from bascule.store.secrets.process_lock import taken

CHUNK = 64 * 1024

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes. A longer line is none of ours: a message has at most a few megabytes."""


class Tail:
    """The last two whole lines, and how many bytes of an unfinished one come after them."""

    def __init__(self, lines: Sequence[bytes], torn: int) -> None:
        self.lines = tuple(lines)
        self.torn = torn

    def chain(self, macs: Macs) -> Chain | None:
        """The chain to be continued. None, if what it ends with cannot be believed."""
        if not self.lines:
            return Chain(macs)
        parts = [split(line) for line in self.lines]
        before, last = parts[0] if len(parts) > 1 else (b"", macs.first), parts[-1]
        if before is None or last is None:
            return None
        body, mac = last
        head = head_of(body)
        if head is None or macs.over(before[1], body) != mac:
            return None
        # One line alone is the first, or the one before it is missing.
        return Chain(macs, head.seq, mac) if (head.seq == 1) == (len(parts) == 1) else None


def read_tail(files: Sequence[Path]) -> Tail:
    """The end of a chain that lies in these files. Raises `OSError`."""
    lines: list[bytes] = []
    torn = 0
    for place, path in enumerate(reversed(files)):
        found, rest = _last_lines(path, 2 - len(lines))
        if place == 0:
            torn = rest
        elif rest:
            # Only the newest file can have been in the making.
            lines.insert(0, b"")
        lines = [*found, *lines]
        if len(lines) >= 2:
            break
    return Tail(lines[-2:], torn)


def _last_lines(path: Path, count: int) -> tuple[list[bytes], int]:
    """At most so many whole lines from the end of a file, and the bytes after them."""
    with open_regular(path) as file:
        start = file.seek(0, os.SEEK_END)
        data = b""
        # One line end more than lines: the first line that is taken has to begin behind one.
        while start and data.count(b"\n") <= count and len(data) < LONGEST_LINE:
            step = min(CHUNK, start)
            start -= step
            file.seek(start)
            data = file.read(step) + data
    whole, end, rest = data.rpartition(b"\n")
    lines = whole.split(b"\n") if end else []
    if start:
        # The beginning of this one was not read. Where there is no other, nothing here can be believed.
        lines = lines[1:] or [b""]
    return lines[-count:], len(rest)


class Slot:
    """A slot that is held. What it ends with was looked at, and may be continued."""

    def __init__(self, folder: AuditFolder, name: str, chain: Chain, torn: int, lock: int) -> None:
        self.writer = ""
        self.name = name
        self.chain = chain
        self.torn = torn
        self.file = AuditFile(folder, name)
        self.passed: tuple[str, ...] = ()
        """Slots that were free, and whose end cannot be believed."""
        self._lock = lock

    @property
    def is_new(self) -> bool:
        return self.chain.sequence == 0

    def free(self) -> None:
        self.file.end()
        os.close(self._lock)


def take_slot(folder: AuditFolder, id_: str, key: bytes, anchors: Mapping[str, Anchor | None]) -> Slot:
    """Hold the first slot that is free and in order. `anchors` has what is kept of each chain, None for what cannot be
    believed. One whose end is altered, or lies before its anchor, is left as it is: to continue it would cover up what
    was done to it. Raises `StoreError`."""
    passed: list[str] = []
    try:
        for name in (f"{number:04}" for number in islice(count(1), MOST_SLOTS)):
            lock = _hold(folder, name)
            if lock is None:
                continue
            try:
                slot = _examine(folder, id_, name, lock, key, anchors)
            except BaseException:
                os.close(lock)
                raise
            if slot is not None:
                slot.passed = tuple(passed)
                return slot
            os.close(lock)
            passed.append(name)
    except OSError as error:
        raise unusable(folder.path, error) from error
    raise StoreError(f"all {MOST_SLOTS} slots of the audit log in {folder.path} are taken")


def _hold(folder: AuditFolder, name: str) -> int | None:
    descriptor = regular_descriptor(folder.lock(name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    if taken(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _examine(
    folder: AuditFolder, id_: str, name: str, lock: int, key: bytes, anchors: Mapping[str, Anchor | None]
) -> Slot | None:
    writer = writer_of(id_, name)
    macs = Macs(key, writer)
    files = folder.files().get(name, [])
    tail = read_tail(files)
    chain = tail.chain(macs)
    # Only the file that was written to last can end in the middle of a record.
    torn_elsewhere = tail.torn and files[-1] != folder.current(name)
    if chain is None or torn_elsewhere or not _reaches(chain, writer, anchors):
        return None
    slot = Slot(folder, name, chain, tail.torn, lock)
    slot.writer = writer
    return slot


def _reaches(chain: Chain, writer: str, anchors: Mapping[str, Anchor | None]) -> bool:
    """Whether the chain comes up to its anchor."""
    if writer not in anchors:
        return True
    anchor = anchors[writer]
    if anchor is None:
        return False
    return anchor.sequence < chain.sequence or (anchor.sequence, anchor.mac) == (chain.sequence, chain.mac.hex())
