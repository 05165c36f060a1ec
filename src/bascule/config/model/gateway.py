"""Gateway settings (address, token verification, workers) and dashboard settings (enabled, token)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bascule.config.model.auth import AuthSettings
from bascule.config.model.kit_server import HIGHEST_PORT
from bascule.config.secret import Secret
from bascule.config.validation import Flaw, refuse

HOST = "127.0.0.1"
PORT = 8470

MOST_WORKERS = 256
"""Processes that serve one address. Each is a whole runtime; a number beyond this is a mistake."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What `bascule serve` serves with."""

    host: str = HOST
    port: int = PORT
    auth: AuthSettings = field(default_factory=AuthSettings)
    workers: int = 1
    """Processes that serve. Each is a runtime of its own."""

    def __post_init__(self) -> None:
        refuse("GatewaySettings", [*place_flaws(self.host, self.port), *worker_flaws(self.workers)])


def place_flaws(host: Any, port: Any) -> Iterator[Flaw]:
    if not isinstance(host, str) or not host.strip() or any(c.isspace() or c == "/" for c in host):
        yield Flaw(("host",), "must be an address of this machine, or its name")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= HIGHEST_PORT:
        yield Flaw(("port",), f"must be a whole number from 1 to {HIGHEST_PORT}")


def worker_flaws(workers: Any) -> Iterator[Flaw]:
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 < workers <= MOST_WORKERS:
        yield Flaw(("workers",), f"must be a whole number from 1 to {MOST_WORKERS}")


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
