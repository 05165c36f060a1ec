"""Journal of sensitivity levels, the second witness: an append-only file, written before the database. The lines of
each agent session are chained: each names the MAC of the one before it."""

import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from bascule.core.principal import Principal
from bascule.files.regular_file import open_regular, read_regular, regular_descriptor
from bascule.store.levels.evidence import NO_LINES, LineChain
from bascule.store.levels.signed_statement import BROKEN, FIRST, UNREADABLE, Line, Statement, mac_of, read_line, seal
from bascule.store.secrets.key_files import sync_folder, write_new

TITLE = b"bascule raises 1 "

HEAD = 64
"""Bytes that identify one file: the title, and random digits. A file system gives the same inode number again to a file
that replaces another."""

MANY = 4096
"""Lines from which on replaced ones are left out: about a megabyte."""

DEAD_SHARE = 4
"""Lines per agent session from which on replaced ones are left out. With fewer, the file would be written too often."""


class Journal:
    """One journal file. The caller of `append` and `tidy` holds a lock between processes; reading needs none."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self._forget(b"")

    def _forget(self, head: bytes) -> None:
        self._head = head
        self._offset = 0
        self._last = b""
        self._torn = False
        """Whether the file ends with a line that has no end: it is being written, or a crash has cut it."""
        self._chains: dict[tuple[str, str], LineChain] = {}
        self._lines = 0
        self.unreadable = 0
        """Lines that could not be read. Their agent sessions are unknown: there the database is ahead, or a chain has a
        gap."""

    def refresh(self) -> None:
        """Reads the lines that were added. The database has to be read first: a line is older than its row."""
        try:
            file = open_regular(self._path, os.O_NOFOLLOW)
        except FileNotFoundError:
            self._forget(b"")
            return
        with file:
            head = file.read(HEAD)
            file.seek(self._offset - len(self._last))
            if head != self._head or file.read(len(self._last)) != self._last:
                self._forget(head)
                file.seek(0)
            self._torn = False
            for line in file:
                if not line.endswith(b"\n"):
                    self._torn = True
                    break
                self._offset += len(line)
                self._last = line
                self._take(line.rstrip(b"\n"))

    def _take(self, sealed: bytes) -> None:
        if not sealed or sealed.startswith(TITLE):
            return
        line = read_line(sealed, self._key)
        if line is UNREADABLE:
            self.unreadable += 1
            return
        self._lines += 1
        of = _owner(line)
        self._chains[of] = self._chains.get(of, NO_LINES).extend(line, mac_of(sealed))

    def lines(self, principal: Principal) -> LineChain:
        return self._chains.get((principal.user_id, principal.session_id), NO_LINES)

    def owners(self) -> Iterator[tuple[str, str]]:
        """User and session of each agent session that has lines."""
        yield from self._chains

    def append(self, statement: Statement, settled: int | None = None) -> None:
        """Adds a line, chained to the last one of its agent session. On disk when this returns. With `settled`, the
        line begins a new chain."""
        self.refresh()
        of = (statement.user_id, statement.session_id)
        sealed = seal(self._chains.get(of, NO_LINES).next_line(statement, settled), self._key)
        try:
            descriptor = regular_descriptor(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._put((sealed,))
            return
        # A torn line may lack nothing but its end. A wrong one makes it unreadable: completed, it would be a line that
        # the next one does not name. Empty lines mean nothing.
        added = (b"?\n" if self._torn else b"\n") + sealed + b"\n"
        try:
            written = os.write(descriptor, added)
            if written < len(added):
                raise OSError(f"only {written} of {len(added)} bytes were written")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Makes durable the lines of other processes that ended before they had done it."""
        descriptor = regular_descriptor(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def tidy(self) -> None:
        """Leaves out lines that later ones have replaced, if they are many. Each agent session gets a new chain. One in
        doubt stays in doubt. Unreadable lines are kept: with the right key they may be readable again."""
        if self._lines < max(MANY, DEAD_SHARE * len(self._chains)):
            return
        unreadable = tuple(self._unreadable_lines())
        self._put((*unreadable, *(seal(_only_line(chain), self._key) for chain in self._chains.values())))
        self.refresh()

    def _unreadable_lines(self) -> Iterator[bytes]:
        for line in read_regular(self._path, flags=os.O_NOFOLLOW).split(b"\n"):
            if line and not line.startswith(TITLE) and read_line(line, self._key) is UNREADABLE:
                yield line

    def _put(self, lines: Iterable[bytes]) -> None:
        """Writes a file with these lines, in one step: no reader finds half of it."""
        title = TITLE + secrets.token_hex(HEAD).encode()
        fresh = self._path.with_name(f"{self._path.name}-new")
        fresh.unlink(missing_ok=True)
        write_new(fresh, b"\n".join((title[: HEAD - 1], *lines, b"")))
        fresh.replace(self._path)
        sync_folder(self._path.parent)


def _owner(line: Line | Statement) -> tuple[str, str]:
    statement = line.statement if isinstance(line, Line) else line
    return statement.user_id, statement.session_id


def _only_line(chain: LineChain) -> Line:
    """The line that replaces all lines of an agent session."""
    assert isinstance(chain.latest, Statement)  # lines of unknown owners are in no chain
    return Line(chain.latest, BROKEN if chain.doubt else FIRST, chain.receipt)
