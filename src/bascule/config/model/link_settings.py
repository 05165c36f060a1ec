"""Settings of links: lifetime, heartbeat, restart backoff, and the rate limits of one principal."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from bascule.config.validation import Flaw, count_flaws, refuse, seconds_flaws

Lifetime = Literal["call", "session", "shared"]
LIFETIMES = ("call", "session", "shared")


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When a silent link is asked whether it lives, and when its silence counts as death. Seconds."""

    interval: float = 30
    stale_after: float = 90

    def __post_init__(self) -> None:
        refuse("Heartbeat", heartbeat_flaws(self.interval, self.stale_after))


@dataclass(frozen=True, slots=True)
class Restart:
    """How often a link that died is opened again, and how long is waited first: twice as long each time."""

    attempts: int = 5
    backoff: float = 2
    """Seconds before the first attempt, give or take some."""

    def __post_init__(self) -> None:
        refuse("Restart", chain(count_flaws("attempts", self.attempts), seconds_flaws("backoff", self.backoff)))


@dataclass(frozen=True, slots=True)
class Limits:
    """What one principal may have of one server. None: as much as it likes."""

    concurrent: int | None = 16
    """Calls under way at once."""
    per_minute: int | None = None
    """Calls begun."""
    bytes_per_minute: int | None = None
    """Bytes of requests sent and of what came for them."""

    def __post_init__(self) -> None:
        given = {"concurrent": self.concurrent, "per_minute": self.per_minute}
        given["bytes_per_minute"] = self.bytes_per_minute
        refuse("Limits", chain.from_iterable(count_flaws(name, n) for name, n in given.items() if n is not None))


def heartbeat_flaws(interval: Any, stale_after: Any) -> Iterator[Flaw]:
    flaws = [*seconds_flaws("interval", interval), *seconds_flaws("stale_after", stale_after)]
    yield from flaws
    if not flaws and stale_after < interval:
        yield Flaw(("stale_after",), "must not be shorter than the `interval` at which a silent link is asked")


def lifetime_flaws(*, lifetime: Any, stateless: Any) -> Iterator[Flaw]:
    if lifetime == "shared" and stateless is not True:
        text = "shared lets everyone use one link, so it needs `stateless: true`: a server that keeps nothing"
        yield Flaw(("lifetime",), text)
