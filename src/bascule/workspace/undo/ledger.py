"""Bookkeeping for undo: per path the calls that changed it, the states before, and the places of the originals. Pure:
it touches no file."""

from collections.abc import Callable, Iterable

from bascule.core.undo.stack import Layers as Piles


class Original:
    """A file or link as it was before some call changed it. It lies in a slot of the attic; or, if it was only renamed
    or put back, in the workspace itself. Several layers may speak of the same one."""

    __slots__ = ("inode", "key", "refs", "slot")

    def __init__(self) -> None:
        self.slot = ""
        self.key: str | None = None
        self.inode = 0
        """Inode of the file that the slot is a copy of; 0 if the slot holds the file itself."""
        self.refs = 0


class Folder:
    """There was a folder. What was in it has layers of its own."""

    __slots__ = ("mode",)

    def __init__(self, mode: int) -> None:
        self.mode = mode


State = Original | Folder | None
"""What there was: a file or link, a folder, or nothing."""


class Owner:
    """Whose changes they are: those of one call."""

    __slots__ = ("astray", "over", "removed", "undone")

    def __init__(self) -> None:
        self.over = False
        """Whether the call has ended."""
        self.undone = False
        """True once the call has ended and was rolled back: its open files accept no more writes."""
        self.removed: set[int] = set()
        """Inodes of files that the call deleted itself, so that it may write to them without a name."""
        self.astray: dict[int, tuple[str, int]] = {}
        """Files that the call wrote to after another call had moved them from their path: by inode, the path and a
        descriptor. At the commit the link count shows whether the writes are lost."""


class Layers:
    """What each call has found on each path of one workspace, and where it lies."""

    def __init__(self, drop: Callable[[str], None]) -> None:
        """`drop` is given each slot that nobody needs any more."""
        self._drop = drop
        self._piles: Piles[str, State] = Piles()
        self._living: dict[str, Original] = {}
        """Originals that lie in the workspace, by where."""

    def __bool__(self) -> bool:
        return bool(self._piles)

    def last_is(self, owner: Owner | None, key: str) -> bool:
        """Whether what is there now is this owner's doing, so that what was before is kept already."""
        return owner is not None and self._piles.on_top(owner, key)

    def push(self, owner: Owner, key: str, found: State) -> None:
        if isinstance(found, Original):
            found.refs += 1
        self._piles.keep(owner, key, found)

    def keys(self, owner: Owner) -> tuple[str, ...]:
        """The paths that it has changed, and may still undo."""
        return self._piles.places(owner)

    def living(self, key: str) -> Original | None:
        """The original that lies here in the workspace, if one does. Before it is changed it has to be moved."""
        return self._living.get(key)

    def moved(self, original: Original, *, key: str | None = None, slot: str = "", inode: int = 0) -> None:
        """It lies elsewhere now: at a path of the workspace, or in a slot. `inode`: the slot is a copy of that file."""
        if original.key is not None:
            self._living.pop(original.key, None)
        original.key, original.slot, original.inode = key, slot, inode
        if key is not None:
            self._living[key] = original

    def void(self, key: str) -> None:
        """Somebody has changed this for good: what was before is not to come back."""
        self._release_all(self._piles.settle(key))

    def commit(self, owner: Owner) -> None:
        """Its changes stay. Where others had changed the same path before, theirs are behind it for good."""
        self._release_all(self._piles.commit(owner))

    def withdraw(self, owner: Owner) -> dict[str, State]:
        """What has to be put back, by path. Where others have changed a path since, they inherit what it had found."""
        back, dropped = self._piles.rollback(owner)
        self._release_all(dropped)
        return back

    def release(self, found: State) -> None:
        """One layer less speaks of it."""
        if not isinstance(found, Original):
            return
        found.refs -= 1
        if found.refs:
            return
        if found.key is not None:
            self._living.pop(found.key, None)
        else:
            self._drop(found.slot)

    def _release_all(self, dropped: Iterable[State]) -> None:
        for found in dropped:
            self.release(found)
