"""Publisher of changes in a kit server: notifies its listeners from any thread, and never blocks."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context

from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

Hear = Callable[[ServerEvent], None]

ALL_LISTS: tuple[ServerEvent, ...] = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


class Changes:
    """Where one server says what changed, and where those who want to know are found.

    It is a `SubscriptionBus` of the SDK. The SDK's own may only be told things in the loop in which everybody listens,
    and tools that change a server run in threads.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, _Listener] = {}

    def tell(self, *events: ServerEvent) -> None:
        for listener in tuple(self._listeners.values()):
            for event in events:
                listener.tell(event)

    async def publish(self, event: ServerEvent) -> None:
        self.tell(event)

    def subscribe(self, listener: Hear) -> Callable[[], None]:
        """From now on `listener` is called in this loop. What is given back ends that, and may be called twice."""
        token = object()
        self._listeners[token] = _Listener(listener, asyncio.get_running_loop())

        def unsubscribe() -> None:
            if found := self._listeners.pop(token, None):
                found.gone = True

        return unsubscribe


class _Listener:
    """One who wants to know. A change that is told again before they could hear of it is heard once: it says no more
    than `look again`, and a thousand new tools must not fill anybody's buffer."""

    def __init__(self, hear: Hear, loop: asyncio.AbstractEventLoop) -> None:
        self._hear = hear
        self._loop = loop
        self._unheard: set[ServerEvent] = set()
        self.gone = False

    def tell(self, event: ServerEvent) -> None:
        if event in self._unheard:
            return
        self._unheard.add(event)
        # A loop that has ended has nobody in it who could hear.
        with suppress(RuntimeError):
            # In nobody's course: who listens must not be found to be whoever made the change.
            self._loop.call_soon_threadsafe(self._deliver, event, context=Context())

    def _deliver(self, event: ServerEvent) -> None:
        # First of all: a change that is told from here on is another one.
        self._unheard.discard(event)
        if not self.gone:
            self._hear(event)
