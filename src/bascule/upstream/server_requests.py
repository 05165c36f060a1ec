"""Requests that servers may send to the client (elicitation, sampling, roots): declared capabilities and the callback.
Without a callback nothing is offered, and everything is refused."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.request import Permit
from bascule.transports.dispatcher import Response
from bascule.upstream.key import LinkKey


class AskedOn(Protocol):
    """The link on which a server asks."""

    @property
    def key(self) -> LinkKey: ...

    async def notify(self, method: str, permit: Permit | None) -> None:
        """Say something to the server. Raises `PeerError`s, or `PermitLost`."""
        ...


OnQuestion = Callable[[AskedOn, str, JsonObject], Awaitable[Response]]
"""Answers a request that a server made on one link. Raise `PeerRefused` to answer with an error."""


class Reception(msgspec.Struct, frozen=True):
    """The capabilities that are declared to servers, and who answers where they use them."""

    capabilities: Mapping[str, Any] = {}
    """For all requests that say nothing else themselves."""
    offered: Mapping[str, Any] = {}
    """For a whole link of the old era, whatever its requests say."""
    answer: OnQuestion | None = None
