"""Verdict of the policy: allow, ask (approval), refuse. A closed set, to be read with `match`."""

import msgspec

from bascule.core.sensitivity import Lane


class Allow(msgspec.Struct, frozen=True, gc=False):
    """It may happen, on this lane."""

    lane: Lane


class Ask(msgspec.Struct, frozen=True):
    """A person decides."""

    rule: str
    message: str


class Refusal(msgspec.Struct, frozen=True):
    """It must not happen."""

    rule: str
    """The name of the rule that said so."""
    message: str
    fix: str = ""
    """What an operator can do."""
    reveals: bool = True
    """Whether the caller may learn of it. If not, the answer must be the one for a tool that does not exist."""
    retry_after: int | None = None
    """Seconds after which it may be otherwise. None: it will not change by waiting."""


Verdict = Allow | Ask | Refusal
