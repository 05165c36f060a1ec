"""Keeps known secrets out of what is shown: a server may repeat in an error what it was given to log in with."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bascule.core.errors import BasculeError, PeerRefused
from bascule.core.jsonvalue import is_array, is_object
from bascule.core.outcome import ToolFailure

LEAST = 8
"""Characters of a secret worth hiding. A shorter one is `true` or `8080` more often than it is secret, and hiding it
everywhere would make messages unreadable."""

SHOWN = "***"

CUT = "…"
"""What stands at the end of a text of which there was more."""

MOST_LEARNED = 64
"""Learned secrets that are kept. A token lives for minutes; a program that runs for a year sees a hundred thousand."""


class Mask:
    """The secrets of one server. Texts and errors pass through it on their way to anyone's eyes."""

    __slots__ = ("_configured", "_former", "_learned", "_secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._configured = _parts(secrets)
        self._former: set[str] = set()
        self._learned: dict[str, None] = {}
        self._secrets = _longest_first(self._configured)

    def learn(self, *secrets: str) -> None:
        """Hide these too, from now on: tokens are not known before someone logs in."""
        for part in _parts(secrets):
            self._learned.pop(part, None)
            self._learned[part] = None
        for oldest in [*self._learned][:-MOST_LEARNED]:
            del self._learned[oldest]
        self._order()

    def succeed(self, former: "Mask") -> None:
        """Hide what another hid as well: what was begun under it may still be ending. What that one had succeeded is
        over by then, so secrets that change every day do not add up."""
        self._former = former.own
        self._order()

    @property
    def own(self) -> set[str]:
        """Every secret it was given or has learned."""
        return self._configured | self._learned.keys()

    def _order(self) -> None:
        self._secrets = _longest_first(self.own | self._former)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, SHOWN)
            text = _without_beginning(text, secret)
        return text

    def value(self, value: Any) -> Any:
        """Any JSON value with the secrets taken out of all its texts."""
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if is_array(value) else value

    def error(self, error: BasculeError) -> BasculeError:
        """The same error, told without the secrets."""
        if self._secrets:
            error.message = self.text(error.message)
            error.evidence = self.text(error.evidence)
            error.cause = self.text(error.cause)
            error.args = (error.message,)
            if isinstance(error, PeerRefused):
                error.data = self.value(error.data)
        return error

    def failure(self, failure: ToolFailure) -> ToolFailure:
        """A tool's own error without the secrets."""
        if not self._secrets:
            return failure
        message, cause, code = self.text(failure.message), self.value(failure.cause), self.value(failure.tool_code)
        return msgspec.structs.replace(failure, message=message, cause=cause, tool_code=code)


def _without_beginning(text: str, secret: str) -> str:
    """Texts are cut to a length before they come here, perhaps in the middle of a secret."""
    at = text.rfind(secret[:LEAST], max(0, len(text) - len(secret)))
    return text[:at] + SHOWN if at >= 0 and secret.startswith(text[at:].rstrip(CUT)) else text


def _parts(secrets: Iterable[str]) -> set[str]:
    # A header holds its secret behind a word, and a server may repeat either the whole or the part.
    return {part for secret in secrets for part in (secret.strip(), *secret.split()) if len(part) >= LEAST}


def _longest_first(secrets: Iterable[str]) -> list[str]:
    """So that a secret which contains another leaves nothing of itself behind."""
    return sorted(secrets, key=len, reverse=True)
