"""Knows secrets again in a text without keeping them, so that very many can be known for very long."""

from collections.abc import Iterator

ANCHOR = 8
"""Characters of a secret that are kept as they are, to find where one may begin. Those of all signed tokens are the
same, and tell nothing."""

MOST = 65_536
"""Secrets of one generation. Far more than are good at the same time: when one is forgotten, after at least as many
newer ones, it has long been spent. Together they take some megabytes."""

FEW = 64
"""Up to so many anchors are looked for one by one, which is quickest in a long text."""

Span = tuple[int, int]
"""Where something begins in a text, and where it ends."""

Generation = dict[str, dict[int, set[int]]]
"""Of secrets that begin alike, by their lengths, the hashes. Another text with such a hash would be hidden for nothing,
which does no harm."""


class Fingerprints:
    """Secrets of at least `ANCHOR` characters. The last `most` are known for sure, and at most twice as many."""

    __slots__ = ("_count", "_most", "_new", "_old")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._count = 0
        self._new: Generation = {}
        self._old: Generation = {}

    def add(self, secret: str) -> None:
        hashes = self._new.setdefault(secret[:ANCHOR], {}).setdefault(len(secret), set())
        if hash(secret) in hashes:
            return
        if self._count == self._most:
            self._old, self._new, self._count = self._new, {}, 0
            hashes = self._new.setdefault(secret[:ANCHOR], {}).setdefault(len(secret), set())
        hashes.add(hash(secret))
        self._count += 1

    def __bool__(self) -> bool:
        return bool(self._new or self._old)

    def spans(self, text: str) -> Iterator[Span]:
        """Where secrets stand in a text, and where one was cut off at its end."""
        for generation in (self._new, self._old):
            for anchor in _anchors(generation, text):
                for at in _places(text, anchor):
                    yield from _here(generation[anchor], text, at)


def _here(lengths: dict[int, set[int]], text: str, at: int) -> Iterator[Span]:
    for length, hashes in lengths.items():
        if at + length <= len(text):
            if hash(text[at : at + length]) in hashes:
                yield at, at + length
        elif not any(map(str.isspace, text[at:])):
            # Texts are cut to a length before they come here. What begins like a secret, and goes on to the end, may
            # be the beginning of one: more than the anchor is not known of it.
            yield at, len(text)


def _anchors(generation: Generation, text: str) -> list[str]:
    if len(generation) <= FEW:
        return [anchor for anchor in generation if anchor in text]
    here = {text[at : at + ANCHOR] for at in range(len(text) - ANCHOR + 1)}
    return [anchor for anchor in here if anchor in generation]


def _places(text: str, anchor: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)
