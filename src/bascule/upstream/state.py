"""States of a link, each with its reason."""

from enum import StrEnum

import msgspec

from bascule.core.errors import BasculeError, LoginNeeded


class LinkState(StrEnum):
    """Where a link stands. `READY` only after its tools were listed."""

    CONFIGURED = "configured"
    CONNECTING = "connecting"
    READY = "ready"
    DEGRADED = "degraded"
    NEEDS_AUTH = "needs-auth"
    FAILED = "failed"
    CLOSED = "closed"


USABLE = frozenset({LinkState.READY, LinkState.DEGRADED})


class Condition(msgspec.Struct, frozen=True):
    """A state with its reason."""

    state: LinkState
    reason: str = ""
    error: BasculeError | None = None


def failed(error: BasculeError) -> Condition:
    state = LinkState.NEEDS_AUTH if isinstance(error, LoginNeeded) else LinkState.FAILED
    return Condition(state, error.message, error)


def in_use(shortcoming: str) -> Condition:
    return Condition(LinkState.DEGRADED if shortcoming else LinkState.READY, shortcoming)
