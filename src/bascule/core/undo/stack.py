"""Undo stack for several calls at once: each call's changes can be undone without those of the others.

Each place has a pile of layers, the last change on top. A layer belongs to a call that has not ended, and holds the
state that its change replaced."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Layers(Generic[K, V]):
    """The piles of all places. What it gives back is for the caller to do."""

    def __init__(self) -> None:
        self._piles: dict[K, list[tuple[Hashable, V]]] = {}
        self._places: dict[Hashable, dict[K, None]] = {}
        """Where each owner has a layer, in the order in which it came there."""

    def __bool__(self) -> bool:
        return bool(self._piles)

    def places(self, owner: Hashable) -> tuple[K, ...]:
        """What the owner has changed, and may still undo."""
        return tuple(self._places.get(owner, ()))

    def on_top(self, owner: Hashable, place: K) -> bool:
        """Whether the last change there is this owner's, so that another one of theirs replaces nothing of others."""
        pile = self._piles.get(place)
        return bool(pile) and pile[-1][0] == owner

    def keep(self, owner: Hashable, place: K, original: V) -> None:
        """The owner is about to change this place, and this stands there now."""
        self._piles.setdefault(place, []).append((owner, original))
        self._places.setdefault(owner, {})[place] = None

    def settle(self, place: K) -> list[V]:
        """Somebody changes this place for good: what others have changed there before is no longer theirs to undo.
        Gives the originals that nobody needs any more."""
        return self._drop(place, len(self._piles.get(place, ())))

    def commit(self, owner: Hashable) -> list[V]:
        """Forget how to undo what the owner changed, and what others had changed in the same places before. Gives the
        originals that nobody needs any more."""
        dropped: list[V] = []
        for place in self._places.pop(owner, ()):
            pile = self._piles.get(place, [])
            mine = [number for number, (whose, _) in enumerate(pile) if whose == owner]
            dropped += self._drop(place, mine[-1] + 1 if mine else 0)
        return dropped

    def rollback(self, owner: Hashable) -> tuple[dict[K, V], list[V]]:
        """Take the owner's changes out. Gives the places where theirs was the last one, with what belongs there again,
        and the originals that nobody needs any more. Where others have changed a place since, it stays as it is, and
        they inherit the original."""
        restored: dict[K, V] = {}
        dropped: list[V] = []
        for place in self._places.pop(owner, ()):
            pile = self._piles.get(place, [])
            while pile and pile[-1][0] == owner:
                if place in restored:
                    dropped.append(restored[place])
                restored[place] = pile.pop()[1]
            self._piles[place] = _without(owner, pile, dropped)
            self._tidy(place)
        return restored, dropped

    def _drop(self, place: K, count: int) -> list[V]:
        """Take the lowest layers away."""
        pile = self._piles.get(place, [])
        dropped, self._piles[place] = pile[:count], pile[count:]
        staying = {whose for whose, _ in self._piles[place]}
        for whose in {whose for whose, _ in dropped} - staying:
            self._places.get(whose, {}).pop(place, None)
        self._tidy(place)
        return [original for _, original in dropped]

    def _tidy(self, place: K) -> None:
        if not self._piles[place]:
            del self._piles[place]


def _without(owner: Hashable, pile: list[tuple[Hashable, V]], dropped: list[V]) -> list[tuple[Hashable, V]]:
    """A pile without this owner's layers. Whoever lies above one of theirs has replaced what that had replaced."""
    kept: list[tuple[Hashable, V]] = []
    inherited: list[V] = []
    for whose, original in pile:
        if inherited:
            # What stood here was the owner's own doing.
            dropped.append(original)
        if whose == owner:
            inherited = inherited or [original]
        else:
            kept.append((whose, inherited[0] if inherited else original))
            inherited = []
    return kept
