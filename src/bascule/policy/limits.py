"""Rate limits and quotas of one principal at one server. Pure: figures in, a refusal out."""

from collections.abc import Iterator
from math import ceil

import msgspec

from bascule.config.model.link_settings import Limits
from bascule.policy.verdict import Refusal

SOON = 1.0
"""Seconds after which to try again where too many calls are under way. A guess: nobody knows when one of them ends."""


class Load(msgspec.Struct, frozen=True):
    """What a principal has of a server at this moment, without the call that is asked for."""

    under_way: int
    """Calls that have begun and not ended."""
    begun: int = 0
    """Calls begun within the last minute."""
    begun_eases: float = 0.0
    """Seconds until these are fewer than the limit."""
    moved: int = 0
    """Bytes sent and received within the last minute."""
    moved_eases: float = 0.0


def within_limits(limits: Limits, load: Load, server: str) -> Refusal | None:
    """Nothing, if a further call may begin. Of several limits that are reached, the one that holds longest is told.

    What a call will bring is not known before it is made, so one may begin as long as bytes are left, and the last one
    may take more than there were.
    """
    return max(_reached(limits, load, server), key=_wait, default=None)


def _reached(limits: Limits, load: Load, server: str) -> Iterator[Refusal]:
    if limits.concurrent is not None and load.under_way >= limits.concurrent:
        told = f"{load.under_way} calls of this agent session are under way at {server}"
        first = f"wait for one of them to end (when is not known, {SOON:g} s is a guess)"
        yield _refusal(told, "concurrent", limits.concurrent, server, SOON, first)
    if limits.per_minute is not None and load.begun >= limits.per_minute:
        told = f"this agent session has begun {load.begun} calls at {server} within a minute"
        yield _refusal(told, "per_minute", limits.per_minute, server, load.begun_eases)
    if limits.bytes_per_minute is not None and load.moved >= limits.bytes_per_minute:
        told = f"this agent session and {server} have sent each other {load.moved} bytes within a minute"
        yield _refusal(told, "bytes_per_minute", limits.bytes_per_minute, server, load.moved_eases)


def _refusal(told: str, name: str, limit: int, server: str, eases: float, first: str = "") -> Refusal:
    seconds = max(1, ceil(eases))
    return Refusal(
        rule="within_limits",
        message=f"{told}, and its `limits.{name}` is {limit}",
        fix=f"{first or f'come back in {seconds} s'}, or raise `limits.{name}` of the server {server}",
        retry_after=seconds,
    )


def _wait(refusal: Refusal) -> int:
    return refusal.retry_after or 0
