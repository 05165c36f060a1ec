"""Journal of sensitivity levels, the second witness: an append-only file, written before the database."""

import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from bascule.core.principal import Principal
from bascule.files.regular_file import open_regular, read_regular, regular_descriptor
from bascule.store.levels.signed_statement import Statement, Unreadable, later, read_statement, seal
from bascule.store.secrets.key_files import sync_folder, write_new

TITLE = b"bascule raises 1 "

HEAD = 64
"""Bytes by which one file is told from another: the title, and chance. A file system gives the same number again to a
file that is put in the place of another."""

MANY = 4096
"""Lines from which on it is worth leaving out those that others have replaced: about a megabyte."""

DEAD_SHARE = 4
"""How many lines there must be for each that still holds. Fewer, and it would be written anew too often."""


class Journal:
    """One file. Adding to it and `tidy` need a lock between processes, which the caller holds; reading needs none."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self._forget(b"")

    def _forget(self, head: bytes) -> None:
        self._head = head
        self._offset = 0
        self._last = b""
        self._holding: dict[tuple[str, str], Statement] = {}
        self._lines = 0
        self.unreadable = 0
        """Lines that could not be read. Whose they were is not known: the database is ahead there."""

    def refresh(self) -> None:
        """Read what was added. Whoever compares with the database has read that first: a line is older than its row."""
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
            for line in file:
                # Not whole yet: it is being written, or it is what a crash has left.
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self._last = line
                self._take(line.rstrip(b"\n"))

    def _take(self, line: bytes) -> None:
        if not line or line.startswith(TITLE):
            return
        statement = read_statement(line, self._key)
        if isinstance(statement, Unreadable):
            self.unreadable += 1
            return
        self._lines += 1
        of = (statement.user_id, statement.session_id)
        self._holding[of] = later(self._holding.get(of), statement)

    def line(self, principal: Principal) -> Statement | None:
        return self._holding.get((principal.user_id, principal.session_id))

    def statements(self) -> Iterator[Statement]:
        """What holds, of each agent session."""
        yield from self._holding.values()

    def append(self, statement: Statement) -> None:
        """On disk when this returns."""
        # It begins with the end of a line, in case a crash has left half a one. Empty lines mean nothing.
        added = b"\n" + seal(statement, self._key) + b"\n"
        try:
            descriptor = regular_descriptor(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._put((seal(statement, self._key),))
            return
        try:
            written = os.write(descriptor, added)
            if written < len(added):
                raise OSError(f"only {written} of {len(added)} bytes were written")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """What another process has added, and did not live to make durable, is durable when this returns."""
        descriptor = regular_descriptor(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def tidy(self) -> None:
        """Leave out lines that later ones have replaced, if they are many. Those that cannot be read are kept: with the
        right key they may be readable again."""
        if self._lines < max(MANY, DEAD_SHARE * len(self._holding)):
            return
        unreadable = tuple(self._unreadable_lines())
        self._put((*unreadable, *(seal(statement, self._key) for statement in self._holding.values())))
        self.refresh()

    def _unreadable_lines(self) -> Iterator[bytes]:
        for line in read_regular(self._path, flags=os.O_NOFOLLOW).split(b"\n"):
            if line and not line.startswith(TITLE) and isinstance(read_statement(line, self._key), Unreadable):
                yield line

    def _put(self, lines: Iterable[bytes]) -> None:
        """A file with these lines, in one step: nobody ever finds it half written."""
        title = TITLE + secrets.token_hex(HEAD).encode()
        fresh = self._path.with_name(f"{self._path.name}-new")
        fresh.unlink(missing_ok=True)
        write_new(fresh, b"\n".join((title[: HEAD - 1], *lines, b"")))
        fresh.replace(self._path)
        sync_folder(self._path.parent)
