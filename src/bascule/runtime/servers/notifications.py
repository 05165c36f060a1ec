"""Notification hub: passes changes, updates and log messages of servers to the listeners of one agent session, and to
no others. It never waits for a listener."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from bascule.core.json_types import JsonObject, as_text
from bascule.core.log_listener import LEVELS, Ear, most_talkative, reaches
from bascule.core.principal import Nobody, Principal
from bascule.core.text.redaction import Mask
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.notifications import KINDS, Kind
from bascule.upstream.pool import DEAD, Pool

SETTLING = 0.02
"""Seconds in which several changes of the lists become one."""

LONGEST = 16 * 1024
"""Bytes of a remark that are passed on. What is longer is passed on as the beginning of its text."""


class Listener(Protocol):
    """Somebody who listens for an agent session. None of these may block."""

    @property
    def asked(self) -> str:
        """The level from which on they have asked to hear what servers remark. Empty, if they have not said."""
        ...

    def changed(self, kind: Kind) -> None:
        """One of its lists is another one now."""
        ...

    def updated(self, uri: str, subscribed: str) -> None:
        """A resource they subscribed to has changed, or one below it."""
        ...

    def remarked(self, params: JsonObject) -> None:
        """A server remarked something, outside of any request that is known."""
        ...

    def finished(self, server: str, theirs: str) -> bool:
        """A server says that a person has finished at an address. Whether they were asked to go there through this
        listener, under that id of the server's."""
        ...

    def ended(self) -> None:
        """An operator has ended the agent session."""
        ...


class Subscribed(Protocol):
    """The resources to which listeners of one agent session have subscribed."""

    def updated(self, key: LinkKey, uri: str) -> None: ...

    def lost(self, link: Link) -> None:
        """A link has ended, and what was subscribed to on it."""
        ...

    def moved(self) -> None:
        """The agent session may be on another lane now."""
        ...

    def holds(self, key: LinkKey, uri: str) -> bool: ...

    async def close(self) -> None: ...


class Lists(Protocol):
    """What is known of what servers offer to whom."""

    @property
    def masks(self) -> Mapping[str, Mask]: ...

    def unsettled(self, principal: Principal) -> tuple[str, ...]: ...

    def prints(self, principal: Principal, moved: Mapping[tuple[Principal, str, Kind], int]) -> Mapping[Kind, Any]:
        """Something for each list that is another thing once the list is another one."""
        ...

    @property
    def links(self) -> Pool: ...


class Circle:
    """Who listens for one agent session."""

    __slots__ = ("due", "ears", "known", "level", "listeners", "looking", "subscribed")

    def __init__(self) -> None:
        self.listeners: dict[Listener, None] = {}
        self.ears: dict[Ear, None] = {}
        self.subscribed: Subscribed | None = None
        self.known: Mapping[Kind, Any] | None = None
        """The lists as they were told last. None until somebody has looked at them."""
        self.looking = 0
        """How many look at the lists just now: what is found for the first time is no change."""
        self.level = ""
        """The most talkative level that any of its requests has asked for."""
        self.due: asyncio.TimerHandle | None = None

    @property
    def empty(self) -> bool:
        return not self.listeners and not self.ears and self.subscribed is None


class News:
    """All circles of one runtime."""

    def __init__(self, lists: Lists, record: Callable[[str, Principal, Mask, JsonObject], None]) -> None:
        self._lists = lists
        self._record = record
        self._circles: dict[Principal, Circle] = {}
        self._moved = Counter[tuple[Principal, str, Kind]]()

    # Listening

    def listen(self, principal: Principal, listener: Listener) -> None:
        circle = self._circle(principal)
        if not circle.listeners and not self._lists.unsettled(principal):
            circle.known = self._lists.prints(principal, self._moved)
        circle.listeners[listener] = None

    def leave(self, principal: Principal, listener: Listener) -> None:
        circle = self._circles.get(principal)
        if circle is not None:
            circle.listeners.pop(listener, None)
            if not circle.listeners:
                circle.known = None
            self._tidy(principal, circle)

    @contextmanager
    def attended(self, principal: Principal, ear: Ear) -> Generator[None]:
        """While a request is served for which somebody listens."""
        circle = self._circle(principal)
        circle.ears[ear] = None
        try:
            yield
        finally:
            circle.ears.pop(ear, None)
            self._tidy(principal, circle)

    def subscribe(self, principal: Principal, subscribed: Subscribed) -> None:
        """Have these told of resources that change."""
        self._circle(principal).subscribed = subscribed

    @contextmanager
    def looking(self, principal: Principal) -> Generator[None]:
        """While somebody asks for a list: what is there for the first time is no news to them."""
        circle = self._circles.get(principal)
        if circle is None:
            yield
            return
        circle.looking += 1
        try:
            yield
        finally:
            circle.looking -= 1
            if circle.known is None:
                circle.known = self._lists.prints(principal, self._moved)
            elif not circle.looking:
                self._mark(principal, circle)

    def others_hold(self, key: LinkKey, uri: str) -> bool:
        """Whether anybody is subscribed to a resource on this link."""
        return any(each.subscribed is not None and each.subscribed.holds(key, uri) for each in self._heard_on(key))

    async def tune(self, principal: Principal, level: str = "") -> None:
        """Have servers remark as much as is wanted by now, also by a request that is about to be made."""
        if level:
            circle = self._circle(principal)
            if most_talkative(level, circle.level) == circle.level:
                return
            circle.level = most_talkative(level, circle.level)
        links = [link for link in self._lists.links.links() if link.key.principal == principal or _shared(link.key)]
        await asyncio.gather(*(link.tune() for link in links))

    async def close(self) -> None:
        circles, self._circles = self._circles, {}
        for circle in circles.values():
            if circle.due is not None:
                circle.due.cancel()
            for listener in tuple(circle.listeners):
                listener.ended()
            if circle.subscribed is not None:
                await circle.subscribed.close()

    # What happens

    def changed(self, principal: Principal | None) -> None:
        """What one principal is shown may have changed, or what everyone is."""
        if principal is None or isinstance(principal, Nobody):
            for each, circle in self._circles.items():
                self._mark(each, circle)
        elif (circle := self._circles.get(principal)) is not None:
            self._mark(principal, circle)

    def told(self, key: LinkKey, kind: Kind) -> None:
        """A server says that a list has changed. Its tools are looked at first."""
        if kind != "tools":
            self._moved[key.principal, key.server, kind] += 1
            self.changed(key.principal)

    def moved(self, principal: Principal, *, ended: bool) -> None:
        """An agent session has become more private, or is over."""
        circle = self._circles.get(principal)
        if circle is None:
            return
        if ended:
            for listener in tuple(circle.listeners):
                listener.ended()
        if circle.subscribed is not None:
            circle.subscribed.moved()
        self._mark(principal, circle)

    def link_changed(self, link: Link) -> None:
        if link.condition.state in DEAD:
            for circle in self._heard_on(link.key):
                if circle.subscribed is not None:
                    circle.subscribed.lost(link)

    def updated(self, key: LinkKey, uri: str) -> None:
        for circle in self._heard_on(key):
            if circle.subscribed is not None:
                circle.subscribed.updated(key, uri)

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None:
        """To the request in whose course it was said; where that is not known, to those of the agent session that are
        under way at that server, else to its listeners. Of a server that is shared it is not known whose it is."""
        mask = self._lists.masks.get(key.server) or Mask()
        self._record(key.server, key.principal, mask, params)
        if ear is not None:
            if reaches(params.get("level"), ear.level):
                ear.hear(key.server, _shown(key.server, mask, params))
            return
        circle = None if _shared(key) else self._circles.get(key.principal)
        if circle is None:
            return
        shown = _shown(key.server, mask, params)
        ears = [each for each in circle.ears if each.is_at(key.server)]
        for each in ears:
            if reaches(params.get("level"), each.level):
                each.hear(key.server, shown)
        for listener in circle.listeners if not ears else ():
            listener.remarked(shown)

    def finished(self, key: LinkKey, theirs: str) -> bool:
        """To whom the person was sent there through, and to nobody else. On links that are shared nobody is."""
        circle = None if _shared(key) else self._circles.get(key.principal)
        told = [] if circle is None else [each.finished(key.server, theirs) for each in circle.listeners]
        return any(told)

    def level(self, key: LinkKey) -> str:
        return most_talkative(
            *(each.level for each in self._heard_on(key)),
            *(listener.asked for each in self._heard_on(key) for listener in each.listeners),
        )

    # Lists

    def _mark(self, principal: Principal, circle: Circle) -> None:
        if circle.listeners and circle.due is None:
            loop = asyncio.get_running_loop()
            circle.due = loop.call_later(SETTLING, self._look, principal, circle)

    def _look(self, principal: Principal, circle: Circle) -> None:
        circle.due = None
        if circle.looking or not circle.listeners:
            return
        prints = self._lists.prints(principal, self._moved)
        known, circle.known = circle.known or {}, prints
        for kind in KINDS:
            if prints[kind] != known.get(kind, ()):
                for listener in circle.listeners:
                    listener.changed(kind)

    def _circle(self, principal: Principal) -> Circle:
        circle = self._circles.get(principal)
        if circle is None:
            circle = self._circles[principal] = Circle()
        return circle

    def _heard_on(self, key: LinkKey) -> Iterable[Circle]:
        if _shared(key):
            return tuple(self._circles.values())
        circle = self._circles.get(key.principal)
        return () if circle is None else (circle,)

    def _tidy(self, principal: Principal, circle: Circle) -> None:
        if circle.empty and self._circles.get(principal) is circle:
            if circle.due is not None:
                circle.due.cancel()
            del self._circles[principal]


def _shared(key: LinkKey) -> bool:
    return isinstance(key.principal, Nobody)


def _shown(server: str, mask: Mask, params: JsonObject) -> JsonObject:
    """A remark as it is passed on: whose it is, without their secrets, and no longer than it need be."""
    level = params.get("level")
    name = mask.text((as_text(params.get("logger")) or "")[:100])
    data = mask.value(params.get("data"))
    written = msgspec.json.encode(data)
    if len(written) > LONGEST:
        data = (data if isinstance(data, str) else written.decode())[: LONGEST // 4] + " …"
    logger = f"{server}.{name}" if name else server
    return {"level": level if level in LEVELS else "info", "logger": logger, "data": data}
