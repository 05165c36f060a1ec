"""Rollback of one call: restores all paths on which the call made the last change."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from bascule.core.errors import WorkspaceError
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.quota import BLOCK, Quota, cost_of
from bascule.workspace.undo.backups import Attic, Restore, open_for_writing
from bascule.workspace.undo.ledger import Folder, Layers, Original, State


class Restoring:
    """One rollback: what must not be there goes, from the bottom up, then what was comes back, from the top down."""

    def __init__(self, root: ConfinedRoot, attic: Attic, layers: Layers, quota: Quota, back: dict[str, State]) -> None:
        self._root = root
        self._attic = attic
        self._layers = layers
        self._quota = quota
        self._back = back
        self._debts: dict[str, State] = {}
        self._placed: set[str] = set()
        self.failed: list[str] = []

    def run(self) -> dict[str, State]:
        """What cannot be put back yet: another call has something in a folder that has to go, or has put something else
        where a folder was."""
        keys = sorted(self._back, key=lambda key: key.count("/"))
        self._debts = {key: self._back[key] for key in reversed(keys) if not self._attempt(key, self._clear)}
        for key in keys:
            if key not in self._debts and not self._attempt(key, self._place):
                self._debts[key] = self._back[key]
            self._placed.add(key)
        return self._debts

    def _attempt(self, key: str, act: Callable[[str, State], bool]) -> bool:
        """One path that cannot be put back keeps no other from it."""
        if key in self.failed:
            return True
        try:
            return act(key, self._back[key])
        except (OSError, WorkspaceError):
            self.failed.append(key)
            return True

    def _clear(self, key: str, found: State) -> bool:
        status = self._status(key)
        if status is None:
            return True
        folder = stat.S_ISDIR(status.st_mode)
        if found is not None and folder == isinstance(found, Folder):
            return True
        if folder:
            if next(self._root.scan(key), None):
                return False
            self._root.remove_folder(key)
        else:
            self._discard(key)
        self._quota.adjust(-cost_of(status))
        return True

    def _status(self, key: str) -> os.stat_result | None:
        try:
            return self._root.status(key)
        except OSError as error:
            # Something else, or a link, is where a folder was.
            if error.errno in {errno.ENOTDIR, errno.ELOOP}:
                return None
            raise

    def _discard(self, key: str) -> None:
        living = self._layers.living(key)
        if living is None:
            self._root.unlink(key)
        else:
            self._hide(living, key)

    def _hide(self, original: Original, key: str) -> str:
        slot = self._attic.slot()
        self._root.take_out(key, self._attic.fd, slot)
        self._layers.moved(original, slot=slot)
        return slot

    def _place(self, key: str, found: State) -> bool:
        if found is None:
            return True
        if not self._reach(key):
            return False
        if isinstance(found, Folder):
            if self._status(key) is None:
                self._make(key, found.mode)
        elif found.key == key:
            self._layers.release(found)
        else:
            self._bring(key, found)
        return True

    def _bring(self, key: str, found: Original) -> None:
        copied = found.key is not None and not self._fetched(found, found.key)
        slot = self._attic.copy_of(self._root, found.key) if copied and found.key is not None else found.slot
        before = self._status(key)
        living = self._layers.living(key)
        if living is not None:
            self._hide(living, key)
        cost = cost_of(self._attic.status(slot))
        if copied or not self._refilled(key, found):
            self._root.put_in(self._attic.fd, slot, key)
        self._quota.adjust(cost - cost_of(before))
        if not copied:
            # Others may still speak of it, as of something that lies here now.
            self._layers.moved(found, key=key)
        self._layers.release(found)

    def _refilled(self, key: str, found: Original) -> bool:
        """Writes the original into the file that stands there, if any call or process has that file open for writing:
        later writes through it have to stay. False if there is no such file, or if the disk is full: then the original
        replaces the file, and the journal rejects later writes to the one without a name."""
        with suppress(OSError):
            if found.inode and self._is_shared(key, found.inode):
                target = self._root.reopen(key, os.O_RDWR, found.inode)
                try:
                    self._attic.refill(Restore(found.slot, key, found.inode), target)
                finally:
                    os.close(target)
                return True
        return False

    def _is_shared(self, key: str, inode: int) -> bool:
        fd = self._root.reopen(key, os.O_RDONLY, inode)
        try:
            return open_for_writing(fd)
        finally:
            os.close(fd)

    def _fetched(self, found: Original, key: str) -> bool:
        """It was renamed, and lies in the workspace under another name. If that one is put back too, it can have it."""
        if key not in self._back or key in self._placed:
            return False
        status = self._status(key)
        self._hide(found, key)
        self._quota.adjust(-cost_of(status))
        return True

    def _reach(self, key: str) -> bool:
        """Whether there are folders down to it. One that is missing is made, until what comes back needs it no more."""
        parts = key.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            status = self._status(above)
            if status is None:
                self._make(above, 0o777)
                self._debts[above] = None
            elif not stat.S_ISDIR(status.st_mode):
                return False
        return True

    def _make(self, key: str, mode: int) -> None:
        self._root.make_folder(key, mode & 0o777)
        self._quota.adjust(BLOCK)
