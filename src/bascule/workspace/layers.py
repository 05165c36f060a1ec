"""Who has changed which path, in which order, and what was there before: the bookkeeping of undoing.

Each path has a stack. A call that changes a path, and is not the one that did so last, puts a layer on top, which says
what it found. Nothing is touched here.
"""

from collections.abc import Callable


class Original:
    """A file or link as it was before some call changed it. It lies in a slot of the attic; or, if it was only renamed
    or put back, in the workspace itself. Several layers may speak of the same one."""

    __slots__ = ("key", "refs", "slot")

    def __init__(self) -> None:
        self.slot = ""
        self.key: str | None = None
        self.refs = 0


class Folder:
    """There was a folder. What was in it has layers of its own."""

    __slots__ = ("mode",)

    def __init__(self, mode: int) -> None:
        self.mode = mode


State = Original | Folder | None
"""What there was: a file or link, a folder, or nothing."""


class Owner:
    """Whose changes they are: those of one call. It has a layer on each of these paths."""

    __slots__ = ("keys", "over")

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}
        self.over = False


class Layer:
    """What one owner found on one path when it began to change it."""

    __slots__ = ("found", "owner")

    def __init__(self, owner: Owner, found: State) -> None:
        self.owner = owner
        self.found = found


class Layers:
    """All stacks of one workspace."""

    def __init__(self, drop: Callable[[str], None]) -> None:
        """`drop` is given each slot that nobody needs any more."""
        self._drop = drop
        self._stacks: dict[str, list[Layer]] = {}
        self._living: dict[str, Original] = {}
        """Originals that lie in the workspace, by where."""

    def __bool__(self) -> bool:
        return bool(self._stacks)

    def last_is(self, owner: Owner | None, key: str) -> bool:
        """Whether what is there now is this owner's doing, so that what was before is kept already."""
        stack = self._stacks.get(key)
        return owner is not None and bool(stack) and stack[-1].owner is owner

    def push(self, owner: Owner, key: str, found: State) -> None:
        if isinstance(found, Original):
            found.refs += 1
        self._stacks.setdefault(key, []).append(Layer(owner, found))
        owner.keys[key] = None

    def living(self, key: str) -> Original | None:
        """The original that lies here in the workspace, if one does. Before it is changed it has to be moved."""
        return self._living.get(key)

    def moved(self, original: Original, *, key: str | None = None, slot: str = "") -> None:
        """It lies elsewhere now: at a path of the workspace, or in a slot."""
        if original.key is not None:
            self._living.pop(original.key, None)
        original.key, original.slot = key, slot
        if key is not None:
            self._living[key] = original

    def void(self, key: str) -> None:
        """Somebody has changed this for good: what was before is not to come back."""
        for layer in self._stacks.pop(key, ()):
            layer.owner.keys.pop(key, None)
            self.release(layer.found)

    def commit(self, owner: Owner) -> None:
        """Its changes stay. Where others had changed the same path before, theirs are behind it for good."""
        for key in tuple(owner.keys):
            stack = self._stacks[key]
            last = max(at for at, layer in enumerate(stack) if layer.owner is owner)
            self._replace(key, stack[last + 1 :], stack[: last + 1])
            for layer in stack[: last + 1]:
                self.release(layer.found)
        owner.keys.clear()

    def withdraw(self, owner: Owner) -> dict[str, State]:
        """What has to be put back, by path. Where others have changed a path since, they inherit what it had found."""
        back: dict[str, State] = {}
        for key in tuple(owner.keys):
            stack = self._stacks[key]
            rest, top, found = list[Layer](), True, False
            for layer in reversed(stack):
                if layer.owner is not owner:
                    rest.append(layer)
                    top = False
                elif top:
                    if found:
                        self.release(back[key])
                    back[key], found = layer.found, True
                else:
                    self.release(rest[-1].found)
                    rest[-1].found = layer.found
            self._replace(key, rest[::-1], [])
        owner.keys.clear()
        return back

    def _replace(self, key: str, stack: list[Layer], gone: list[Layer]) -> None:
        if stack:
            self._stacks[key] = stack
        else:
            del self._stacks[key]
        remaining = {id(layer.owner) for layer in stack}
        for layer in gone:
            if id(layer.owner) not in remaining:
                layer.owner.keys.pop(key, None)

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
