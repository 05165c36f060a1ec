"""Whether there is a dashboard, and what opens it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bascule.config.secret import Secret
from bascule.config.validation import Flaw, refuse

AUTO = "auto"
"""Stands for a token that is made once, and kept in the state folder."""

LEAST_TOKEN = 16
"""Characters of a token that somebody chose. A shorter one can be guessed."""


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    """What `bascule serve` and `bascule up` show with."""

    enabled: bool = True
    token: Secret | None = None
    """None: one that is made once, and kept in the state folder."""

    def __post_init__(self) -> None:
        refuse("DashboardSettings", token_flaws(AUTO if self.token is None else self.token.reveal()))


def token_flaws(token: Any) -> Iterator[Flaw]:
    """What is wrong with it, never repeating it."""
    if token == AUTO:
        return
    if not isinstance(token, str) or len(token) < LEAST_TOKEN:
        yield Flaw(("token",), f"must be auto, or a text of at least {LEAST_TOKEN} characters that nobody guesses")
    elif not token.isascii() or not token.isprintable() or " " in token:
        yield Flaw(("token",), "must be of letters, digits and signs that an address can hold")
