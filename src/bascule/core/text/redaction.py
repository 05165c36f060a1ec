"""Redaction of secrets from texts, values and errors: a server may repeat its own credentials in an error message.
Secrets learned at run time are held as fingerprints (8 characters and a hash), at least the last 65,536 of them."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bascule.core.errors import BasculeError, PeerRefused
from bascule.core.json_types import is_array, is_object
from bascule.core.outcome import ToolFailure

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


LEAST = 8
"""Characters of a secret worth hiding. A shorter one is `true` or `8080` more often than it is secret, and hiding it
everywhere would make messages unreadable."""

SHOWN = "***"

CUT = "…"
"""What stands at the end of a text of which there was more."""


class Mask:
    """The secrets of one server. Texts and errors pass through it on their way to anyone's eyes."""

    __slots__ = ("_configured", "_learned")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._configured = _parts(secrets)
        self._learned = Fingerprints()

    def learn(self, *secrets: str) -> None:
        """Hide these too, from now on: tokens are not known before someone logs in. Many users may be logged in to one
        server, so what the first was given is hidden still when the last one comes."""
        for part in _parts(secrets):
            self._learned.add(part)

    def succeed(self, former: "Mask") -> None:
        """Hide what another hid as well, and what it still learns: what was begun under it may still be ending."""
        self._learned = former.known()

    def known(self) -> Fingerprints:
        """All that it hides, and whatever it will learn."""
        self.learn(*self._configured)
        return self._learned

    def text(self, text: str) -> str:
        spans = [*self._learned.spans(text)] if self._learned else []
        for secret in self._configured:
            spans += _spans(text, secret)
        return _without(text, spans) if spans else text

    def value(self, value: Any) -> Any:
        """Any JSON value with the secrets taken out of all its texts."""
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if is_array(value) else value

    def error(self, error: BasculeError) -> BasculeError:
        """The same error, told without the secrets."""
        if self._configured or self._learned:
            error.message = self.text(error.message)
            error.evidence = self.text(error.evidence)
            error.cause = self.text(error.cause)
            error.where = self.text(error.where)
            error.fix = self.text(error.fix)
            error.args = (error.message,)
            if isinstance(error, PeerRefused):
                error.data = self.value(error.data)
        return error

    def failure(self, failure: ToolFailure) -> ToolFailure:
        """A tool's own error without the secrets."""
        if not (self._configured or self._learned):
            return failure
        message, cause, code = self.text(failure.message), self.value(failure.cause), self.value(failure.tool_code)
        return msgspec.structs.replace(failure, message=message, cause=cause, tool_code=code)


def _spans(text: str, secret: str) -> Iterator[Span]:
    at = text.find(secret)
    while at >= 0:
        yield at, at + len(secret)
        at = text.find(secret, at + len(secret))
    # Texts are cut to a length before they come here, perhaps in the middle of a secret.
    cut = text.rfind(secret[:LEAST], max(0, len(text) - len(secret)))
    if cut >= 0 and secret.startswith(text[cut:].rstrip(CUT)):
        yield cut, len(text)


def _without(text: str, spans: Iterable[Span]) -> str:
    """Secrets that overlap are hidden as one: nothing of either is left over."""
    kept, end = list[str](), 0
    for begins, ends in sorted(spans):
        if begins >= end:
            kept += [text[end:begins], SHOWN]
        end = max(end, ends)
    return "".join([*kept, text[end:]])


def _parts(secrets: Iterable[str]) -> set[str]:
    # A header holds its secret behind a word, and a server may repeat either the whole or the part.
    return {part for secret in secrets for part in (secret.strip(), *secret.split()) if len(part) >= LEAST}
