"""Tells of every change of a link's state, as an event."""

from collections.abc import Callable

from bascule.core.events import LinkChanged
from bascule.links.link import Link


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
        told = (condition.state, condition.reason, self._clock(), code)
        self._tell(LinkChanged(key.server, key.lane, key.principal, *told))
        if self._then is not None:
            self._then(link)
