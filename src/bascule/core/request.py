"""One request to a server in the form that every transport takes, with its timeout, permit, headers and callbacks."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from bascule.core.counters import Tally
from bascule.core.log_listener import Ear
from bascule.core.trace_context import TraceContext


class Permit(Protocol):
    """Leave to write. Asked in the same loop step in which bytes are handed over, never before."""

    def valid(self) -> bool: ...


class Leave(Permit, Protocol):
    """Leave to write on a lane, for everything that a link writes. It can run out, and be had again."""

    async def regain(self) -> None:
        """See that it is valid, where that can be. It may stay as it is."""
        ...


OnProgress = Callable[[float, float | None, str | None], Awaitable[None] | None]
"""Told of progress: how far, of how much, and a word about it."""


OnNotice = Callable[[str, dict[str, Any]], None]
"""Takes a notification, in the order of the wire. Must not block."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """A method and its parameters, with the terms on which it is sent."""

    method: str
    params: dict[str, Any] | None
    timeout: float
    """Seconds from the write to the whole reply. Nothing that trickles in extends it."""
    phase: str = "call"
    """What a timeout is called: connect, probe, list, call."""
    permit: Permit | None = None
    on_progress: OnProgress | None = None
    headers: Mapping[str, str] = {}
    """For HTTP only."""
    cancel_on_abandon: bool = True
    """Whether the server is told when we stop waiting. The protocol forbids it for `initialize`."""
    tally: Tally | None = None
    """Where the bytes that go and come are counted, if anybody wants to know."""
    capabilities: Mapping[str, Any] | None = None
    """What the server may ask for its sake, where that is not the same for all requests of a link. The old era says so
    when a link is opened, and not again."""
    ear: Ear | None = None
    """Who hears what the server remarks while it is at this request."""
    on_notice: OnNotice | None = None
    """Takes the notifications that belong to this request, where the connection shows that they do. Without it they are
    taken like all others."""
    trace: TraceContext | None = None
    """The trace it belongs to, as its server is told. None: one of its own."""
