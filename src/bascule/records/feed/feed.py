"""Dashboard feed, an event sink: the last calls, statistics of tools, agent sessions and servers, and watchers that are
woken at most every 0.25 s. It never grows beyond its bounds."""

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal

import msgspec

from bascule.core.events import (
    CatalogChanged,
    ConfigApplied,
    HostAsked,
    LevelChanged,
    LevelFollowed,
    LinkChanged,
    PersonAnswered,
    PersonAsked,
    RequestEnded,
    ToolInvoked,
    ToolsApproved,
    ToolsQuarantined,
)
from bascule.core.principal import Principal
from bascule.core.tool import ToolSpec
from bascule.records.audit.pseudonyms import Aliases
from bascule.records.feed.calls import OK, TOOL_CALL, CallNote, note_of
from bascule.records.feed.hosts import HostNote, host_note
from bascule.records.feed.servers import ServerNotes
from bascule.records.feed.stats import Tally

PAUSE = 0.25
"""Seconds for which changes are gathered before the watchers are woken."""


class Watchers:
    """Watchers of the feed: woken together, after a pause. Costs nothing while there are none."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._waiting: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def stir(self) -> None:
        """Something has happened. They hear of it soon, together with what happens until then."""
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._wake)

    async def wait(self) -> None:
        """Until something happens, and a little longer."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
            if not self._waiting and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wake(self) -> None:
        self._timer = None
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


MOST_CALLS = 10_000
"""Calls that are kept to be looked at. Each takes about half a kilobyte."""

MOST_FRESH = 500
"""Calls that are put aside as they end. Then they are taken in, whether or not anybody looks."""

SOON = 0.01
"""Seconds after which they are, at the latest. Many at once take less time than one by one, each between other work.
What a call gave back is held for so long, in which not much more can come than is in memory anyway."""

MOST_SESSIONS = 1000
"""Agent sessions that are remembered: those last active."""

MOST_TOOLS = 1000
"""Tools that are told apart; all others are one more. Each takes a kilobyte."""

MOST_HOSTS = 500

REST = ("", "(others)")
"""The server and the name of the tools beyond those."""

Topic = Literal["calls", "sessions", "servers", "tools", "asks", "drift"]

FindSpec = Callable[[Principal, str], ToolSpec | None]
"""Finds a tool by the name that a caller used."""


class SessionNote(msgspec.Struct):
    """What was seen of one agent session."""

    calls: int = 0
    failures: int = 0
    refused: int = 0
    last: float | None = None
    """When its last call ended."""


class Feed:
    """Of one runtime. Written by its loop alone, and read there."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_CALLS) -> None:
        self.id = secrets.token_hex(4)
        """Of this feed: a page that was open before a restart can tell that this is another one."""
        self.since = clock()
        self.seq = 0
        """Moves with everything that happens."""
        self.calls = self.failures = self.refused = 0
        self.hosts: deque[HostNote] = deque(maxlen=MOST_HOSTS)
        self.servers = ServerNotes()
        self.watchers = Watchers()
        self.find_spec: FindSpec | None = None
        """Set by whoever knows: the names of arguments are shown where their tool declares them."""
        self._moved: dict[Topic, int] = {}
        self._fresh: list[tuple[ToolInvoked | RequestEnded, int]] = []
        """Each with its number."""
        self._due: asyncio.TimerHandle | None = None
        self._ring: deque[CallNote] = deque(maxlen=most)
        self._sessions: OrderedDict[Principal, SessionNote] = OrderedDict()
        self._tools: dict[tuple[str, str], Tally] = {}
        self._aliases = Aliases(secrets.token_bytes(32))
        self._takers: dict[type, Callable[[Any], None]] = {
            ToolInvoked: self._call,
            RequestEnded: self._call,
            LinkChanged: self._link,
            LevelChanged: self._level,
            LevelFollowed: self._level,
            PersonAsked: self._asked,
            PersonAnswered: self._asked,
            CatalogChanged: self._drift,
            ToolsQuarantined: self._drift,
            ToolsApproved: self._drift,
            ConfigApplied: self._config,
            HostAsked: self._host,
        }

    def note(self, event: object) -> None:
        """Take an event: a sink."""
        take = self._takers.get(type(event))
        if take is not None:
            self.seq += 1
            take(event)
            if self.watchers:
                self.watchers.stir()

    def recent(self, wanted: Callable[[CallNote], bool] | None = None) -> Iterator[CallNote]:
        """The calls that are kept, newest first; of these, the ones that are wanted. Who chooses sees them as they
        came, and shows nothing of that."""
        self.take_in()
        return map(self._cleaned, filter(wanted, reversed(self._ring)))

    def count(self, wanted: Callable[[CallNote], bool]) -> int:
        self.take_in()
        return sum(map(wanted, self._ring))

    def call(self, seq: int) -> CallNote | None:
        return next(self.recent(lambda note: note.seq == seq), None)

    def shown_name(self, name: str, server: str, method: str) -> str:
        """What may be shown of how a caller named what a request is about."""
        if not server:
            return self._aliases.of(name)
        return name if method == TOOL_CALL else self._aliases.subject(method, name)

    @property
    def kept(self) -> int:
        self.take_in()
        return len(self._ring)

    def since_seq(self, seq: int, most: int) -> list[CallNote] | None:
        """The calls after this number, oldest first. None where they are more than that, or not all kept."""
        self.take_in()
        found: list[CallNote] = []
        for note in reversed(self._ring):
            if note.seq <= seq:
                return found[::-1]
            if len(found) == most:
                return None
            found.append(self._cleaned(note))
        whole = self.calls == len(self._ring)
        return found[::-1] if whole else None

    def topics(self, seq: int) -> tuple[Topic, ...]:
        """What has changed after this number."""
        return tuple(topic for topic, moved in self._moved.items() if moved > seq)

    def sessions(self) -> dict[Principal, SessionNote]:
        """The last active first."""
        self.take_in()
        return dict(reversed(self._sessions.items()))

    def session(self, principal: Principal) -> SessionNote:
        self.take_in()
        return self._sessions.get(principal) or SessionNote()

    def tools(self) -> dict[tuple[str, str], Tally]:
        """By server and name."""
        self.take_in()
        return self._tools

    def take_in(self) -> None:
        """Put the calls that were put aside where they belong."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._fresh:
            fresh, self._fresh = [note_of(*each) for each in self._fresh], []
            self._ring += fresh
            self.calls += len(fresh)
            for principal, notes in groupby(fresh, attrgetter("principal")):
                self._count(principal, [*notes])

    def _call(self, event: ToolInvoked | RequestEnded) -> None:
        self._fresh.append((event, self.seq))
        self._moved["calls"] = self._moved["tools"] = self.seq
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(SOON, self.take_in)
        elif len(self._fresh) >= MOST_FRESH:
            self.take_in()

    def _count(self, principal: Principal, notes: list[CallNote]) -> None:
        """Calls of one agent session, in their order."""
        session = self._session(principal)
        session.calls += len(notes)
        session.last = notes[-1].at
        for note in notes:
            failed = note.outcome != OK
            if failed:
                self.failures += 1
                session.failures += 1
                if note.rule:
                    self.refused += 1
                    session.refused += 1
            if note.server and note.method == TOOL_CALL:
                tally = self._tools.get((note.server, note.name)) or self._tally(note)
                tally.add(note.outcome, note.seconds, note.at, failed=failed)

    def _cleaned(self, note: CallNote) -> CallNote:
        """What callers can write freely has an alias from here on: names that lead nowhere, addresses, and the names of
        arguments that nobody declares. Most calls are never looked at, so this is done for those that are."""
        if note.clean:
            return note
        note.clean = True
        aliases, called = self._aliases, note.method == TOOL_CALL
        spec = self.find_spec(note.principal, note.name) if called and self.find_spec is not None else None
        details = note.details
        shown = dict(aliases.shapes(details.arguments, spec))
        note.packed = msgspec.structs.replace(details, arguments=shown).packed()
        note.name = self.shown_name(note.name, note.server, note.method)
        if not note.server:
            # That there is no such tool, or prompt, repeats its name.
            note.message = note.fix = ""
        return note

    def _session(self, principal: Principal) -> SessionNote:
        found = self._sessions.get(principal)
        if found is None:
            found = self._sessions[principal] = SessionNote()
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(principal)
        return found

    def _tally(self, note: CallNote) -> Tally:
        """Of a tool that was not called before."""
        key = (note.server, note.name) if len(self._tools) < MOST_TOOLS else REST
        return self._tools.setdefault(key, Tally())

    def _link(self, event: LinkChanged) -> None:
        self.servers.note(event)
        self._moved["servers"] = self.seq

    def _level(self, event: LevelChanged | LevelFollowed) -> None:
        self.take_in()
        self._session(event.principal)
        self._moved["sessions"] = self.seq

    def _asked(self, _event: PersonAsked | PersonAnswered) -> None:
        self._moved["asks"] = self.seq

    def _drift(self, _event: CatalogChanged | ToolsQuarantined | ToolsApproved) -> None:
        self._moved["drift"] = self._moved["servers"] = self.seq

    def _config(self, event: ConfigApplied) -> None:
        self.servers.forget((*event.added, *event.removed))
        self._moved["servers"] = self._moved["drift"] = self.seq

    def _host(self, event: HostAsked) -> None:
        self.hosts.append(host_note(event, self._aliases))
        self._moved["servers"] = self.seq
