"""Journal of changes to a workspace: each change is made so that the call that makes it can undo it.

A change outside of any call is permanent. The quota is not checked here: its room was taken before."""

import errno
import os
import stat
from threading import RLock

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import Undo, current_transaction
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.errors import lost_write, undone_file
from bascule.workspace.quota import BLOCK, Quota, cost_of
from bascule.workspace.undo.backups import Attic
from bascule.workspace.undo.ledger import Folder, Layers, Original, Owner, State
from bascule.workspace.undo.restore import Restoring
from bascule.workspace.virtual_paths import RESERVED, shown


class CallChanges:
    """What one call has changed in one workspace."""

    __slots__ = ("_history", "owner")

    def __init__(self, history: "History") -> None:
        self._history = history
        self.owner = Owner()

    def commit(self) -> None:
        self._history.commit(self.owner)

    def rollback(self) -> None:
        self._history.rollback(self.owner)


class History:
    """All changes of one workspace, and the lock under which each is made."""

    def __init__(self, root: ConfinedRoot, attic: Attic, quota: Quota) -> None:
        self.lock = RLock()
        self.quota = quota
        self._root = root
        self._attic = attic
        self._layers = Layers(attic.drop)
        self._debts: dict[str, State] = {}
        """What would be on these paths, if it were not for what another call has done to a folder above or below."""

    def owner(self) -> Owner | None:
        """Whose change it is that is made here and now."""
        transaction = current_transaction()
        if transaction is None:
            return None
        part: Undo = transaction.part(self, lambda: CallChanges(self))
        assert isinstance(part, CallChanges)
        return part.owner

    def untouched(self, owner: Owner | None) -> bool:
        """Whether nothing has to be kept for anybody."""
        return owner is None and not self._layers

    def created(self, owner: Owner | None, key: str) -> None:
        """Something is there now where nothing was."""
        self._record(owner, key, None)

    def wanted_too(self, owner: Owner | None, key: str) -> None:
        """This folder is there, and somebody relies on it. It may be there only until it is empty."""
        if key in self._debts:
            self._record(owner, key, None)

    def replace(self, owner: Owner | None, key: str, slot: str, *, there: bool) -> None:
        """What lies in the slot comes into the workspace, in one step. `there`: it takes the place of something."""
        original = self._wanted(owner, key) if there else None
        if original is None:
            self._root.put_in(self._attic.fd, slot, key)
        else:
            self._exchanged(original, key, slot)
        self._record(owner, key, original)

    def before_writing(self, owner: Owner | None, key: str, inode: int) -> None:
        """The file is about to be changed where it is, so the original has to be a copy."""
        original = self._wanted(owner, key)
        if original is not None:
            self._keep(original, key, self._attic.copy_of(self._root, key), inode)
        self._record(owner, key, original)

    def before_writing_on(self, owner: Owner | None, key: str, fd: int) -> None:
        """The same for a file that has been open for some time: other calls may have changed, moved or replaced it.

        Rejects a write that no reader could ever see, except to a file that the call deleted itself.
        """
        status = os.fstat(fd)
        if owner is not None:
            _require_a_reader(owner, key, status)
            owner = None if owner.over else owner
        if self.untouched(owner):
            return
        place = self._place_of(key, fd, status.st_ino)
        if place is not None:
            if not self._layers.last_is(owner, place):
                self.before_writing(owner, place, status.st_ino)
        elif owner is not None and status.st_nlink and status.st_ino not in owner.astray:
            owner.astray[status.st_ino] = key, os.dup(fd)

    def _place_of(self, key: str, fd: int, inode: int) -> str | None:
        """Present path of an open file. None if it has none, or lies in the attic as the original of another call."""
        if self._stands(key, inode):
            return key
        moved = self._root.key_of(fd)
        return moved if moved is not None and self._stands(moved, inode) else None

    def _stands(self, key: str, inode: int) -> bool:
        try:
            there = self._root.status(key)
        except OSError:  # a folder above was replaced
            return False
        return there is not None and there.st_ino == inode and key.partition("/")[0] != RESERVED

    def remove(self, owner: Owner | None, key: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            self._root.remove_folder(key)
            self._record(owner, key, Folder(status.st_mode))
        else:
            original = self._wanted(owner, key)
            if original is None:
                self._root.unlink(key)
            else:
                self._take_out(original, key)
            self._record(owner, key, original)
            if owner is not None:
                owner.removed.add(status.st_ino)
        self.quota.adjust(-cost_of(status))

    def make_folder(self, owner: Owner | None, key: str, mode: int = 0o777) -> None:
        self._root.make_folder(key, mode & 0o777)
        self._record(owner, key, None)

    def move(self, owner: Owner | None, key: str, to: str, status: os.stat_result) -> None:
        there = self._root.status(to)
        if not stat.S_ISDIR(status.st_mode):
            self._move_file(owner, key, to, there)
        elif self.untouched(owner):
            self._root.rename(key, to)
            self.quota.adjust(-cost_of(there))
        else:
            self._move_folder(owner, key, to, there)

    def _move_file(self, owner: Owner | None, key: str, to: str, there: os.stat_result | None) -> None:
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise OSError(errno.EISDIR, "a folder")
        original = self._wanted(owner, key)
        replaced = self._wanted(owner, to) if there is not None else None
        if replaced is None:
            self._root.rename(key, to)
        else:
            self._move_over(key, to, replaced)
        if original is not None:
            self._layers.moved(original, key=to)
        self._record(owner, key, original)
        self._record(owner, to, replaced)
        self.quota.adjust(-cost_of(there))

    def _move_over(self, key: str, to: str, replaced: Original) -> None:
        slot = self._attic.slot()
        self._root.take_out(to, self._attic.fd, slot)
        try:
            self._root.rename(key, to)
        except OSError:
            self._root.put_in(self._attic.fd, slot, to)
            raise
        self._keep(replaced, to, slot)

    def _move_folder(self, owner: Owner | None, key: str, to: str, there: os.stat_result | None) -> None:
        """Piece by piece: each path in it has its own history, and others may be changing some."""
        self._make_way(owner, to, there)
        folders = [key]
        for below, status in tuple(self._root.walk(key)):
            target = to + below[len(key) :]
            if stat.S_ISDIR(status.st_mode):
                self.make_folder(owner, target, status.st_mode)
                self.quota.adjust(BLOCK)
                folders.append(below)
            else:
                self._move_file(owner, below, target, None)
        for folder in reversed(folders):
            status = self._root.status(folder)
            if status is not None:
                self.remove(owner, folder, status)

    def _make_way(self, owner: Owner | None, to: str, there: os.stat_result | None) -> None:
        if there is None:
            self.make_folder(owner, to)
            self.quota.adjust(BLOCK)
        elif not stat.S_ISDIR(there.st_mode):
            raise OSError(errno.ENOTDIR, "no folder")
        elif next(self._root.scan(to), None):
            raise OSError(errno.ENOTEMPTY, "not empty")

    def _wanted(self, owner: Owner | None, key: str) -> Original | None:
        """What the file that lies here must be kept as. None if nobody needs it any more."""
        living = self._layers.living(key)
        if living is None and owner is not None and not self._layers.last_is(owner, key):
            return Original()
        return living

    def _exchanged(self, original: Original, key: str, slot: str) -> None:
        if self._root.swap(self._attic.fd, slot, key):
            if stat.S_ISDIR(self._attic.status(slot).st_mode):  # it became one since we looked
                self._root.swap(self._attic.fd, slot, key)
                raise OSError(errno.EISDIR, "a folder")
            self._keep(original, key, slot)
        else:
            kept = self._attic.copy_of(self._root, key)
            self._root.put_in(self._attic.fd, slot, key)
            self._keep(original, key, kept)

    def _take_out(self, original: Original, key: str) -> None:
        slot = self._attic.slot()
        self._root.take_out(key, self._attic.fd, slot)
        self._keep(original, key, slot)

    def _keep(self, original: Original, key: str, slot: str, inode: int = 0) -> None:
        self._layers.moved(original, slot=slot, inode=inode)
        self._attic.note(slot, key)

    def _record(self, owner: Owner | None, key: str, found: State) -> None:
        if owner is None:
            self._layers.void(key)
            self._settle_debts(key)
            return
        owed = self._debts.pop(key, found)
        if not self._layers.last_is(owner, key):
            # What is owed here is what would be here, if it could.
            self._layers.push(owner, key, owed)
        if owed is not found:
            self._layers.release(owed)

    def _settle_debts(self, key: str) -> None:
        """Something stays in these folders for good, so they stay as well."""
        for owed in [owed for owed in self._debts if key == owed or key.startswith(owed + "/")]:
            self._layers.release(self._debts.pop(owed))

    def commit(self, owner: Owner) -> None:
        with self.lock:
            owner.over = True
            keys = self._layers.keys(owner)
            self._layers.commit(owner)
            if self._debts:
                self._put_back({})
                for key in keys:
                    self._settle_debts(key)
            lost = _lost(owner)
        if lost:
            raise lost_write(lost[0])

    def rollback(self, owner: Owner) -> None:
        with self.lock:
            owner.over = owner.undone = True
            _lost(owner)
            self._put_back(self._layers.withdraw(owner))

    def _put_back(self, back: dict[str, State]) -> None:
        """With what was owed, if that is possible now."""
        for key in back.keys() & self._debts.keys():
            self._layers.release(self._debts.pop(key))
        restoring = Restoring(self._root, self._attic, self._layers, self.quota, self._debts | back)
        self._debts = restoring.run()
        self._forget_debts()
        if restoring.failed:
            first, rest = shown(restoring.failed[0]), len(restoring.failed) - 1
            raise WorkspaceError(
                f"{first} could not be put back" + (f", nor {rest} more" if rest else ""),
                where=first,
                cause="a server, or the disk, was in the way",
                fix="the originals are kept in the attic of the workspace, with an index, for an operator",
            )

    def _forget_debts(self) -> None:
        if self._debts and not self._layers:
            for found in self._debts.values():
                self._layers.release(found)
            self._debts = {}


def _require_a_reader(owner: Owner, key: str, status: os.stat_result) -> None:
    if owner.undone:
        raise undone_file(key)
    if not status.st_nlink and status.st_ino not in owner.removed:
        raise lost_write(key)


def _lost(owner: Owner) -> list[str]:
    """Paths of the files without a name that the call wrote to after another call had moved them. Once per call."""
    lost: list[str] = []
    for key, fd in owner.astray.values():
        if not os.fstat(fd).st_nlink:
            lost.append(key)
        os.close(fd)
    owner.astray.clear()
    return lost
