"""Tells of every change of a link's state, as an event."""

import asyncio
from collections.abc import Callable

from bascule.core.events import LinkChanged
from bascule.upstream.link import Link


class Announcer:
    """Between links and whoever keeps events."""

    def __init__(
        self,
        tell: Callable[[LinkChanged], None],
        clock: Callable[[], float],
        then: Callable[[Link], None] | None = None,
    ) -> None:
        """`then` is given the link itself, once the event is told."""
        self._tell = tell
        self._clock = clock
        self._then = then

    def __call__(self, link: Link) -> None:
        key, condition = link.key, link.condition
        code = condition.error.code if condition.error is not None else ""
        told = (condition.state, condition.reason, self._clock(), code, link.lived)
        self._tell(LinkChanged(key.server, key.lane, key.principal, *told))
        if self._then is not None:
            # In a step of its own: what comes of it is no part of what the link does.
            asyncio.get_running_loop().call_soon(self._then, link)
