"""What servers may ask of us, and who answers. Without one, nothing is offered and everything is refused."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bascule.core.jsonvalue import JsonObject
from bascule.links.key import LinkKey
from bascule.transports.dispatcher import Response

OnQuestion = Callable[[LinkKey, str, JsonObject], Awaitable[Response]]
"""Answers a request that a server made on one link. Raise `PeerRefused` to answer with an error."""


class Reception(msgspec.Struct, frozen=True):
    """The capabilities that are declared to servers, and who answers where they use them."""

    capabilities: Mapping[str, Any] = {}
    answer: OnQuestion | None = None
