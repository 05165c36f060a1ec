"""View models read from the one runtime in this process."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from zlib import crc32

import msgspec

from bascule import __version__
from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Receipt
from bascule.core.sensitivity import DataSensitivity, lane_for
from bascule.core.text.invisible_chars import escaped_json
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.dashboard.session_ids import principal_of, session_id
from bascule.dashboard.views.calls import call_detail, call_row, place_of, under_way_row
from bascule.dashboard.views.search import found, query_of
from bascule.dashboard.views.servers import (
    drift_key,
    drift_view,
    host_view,
    link_rows,
    listed_tools,
    log_view,
    server_row,
)
from bascule.dashboard.views.sessions import (
    forecasts,
    ladder,
    receipt_view,
    row_of,
    row_of_record,
    row_unread,
    word,
)
from bascule.dashboard.views.shapes import (
    LOG_LINES,
    MOST_CALLS,
    AskView,
    CallDetail,
    Drift,
    Found,
    News,
    Overview,
    ServerDetail,
    ServerRow,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
    Topic,
    UnderWay,
    WhatIf,
)
from bascule.records.feed.calls import CallNote
from bascule.records.feed.feed import Feed
from bascule.records.feed.stats import Tally
from bascule.runtime.admin import Oversight
from bascule.runtime.approvals.ask import Waiting
from bascule.runtime.runtime import Runtime
from bascule.runtime.session_context import Standing

MOST_SHOWN = 10_000
"""Characters of arguments that are shown to whoever is asked. More would push what is asked about off the screen."""

MOST_NEWS = 200
"""Calls that are told one by one. Whoever has missed more looks at everything again."""

MOST_TOOLS = 2000

MOST_SESSIONS = 200
"""Agent sessions on one page that are no longer in memory: each is read from the store."""

GLANCE = 0.5
"""Seconds between two looks at the requests under way, while somebody looks."""

GLANCES = 30
"""Looks after which something is told although nothing has changed, so that both ends know of each other."""

LONG = 0.3
"""Seconds after which a request is shown although it has not ended. Most have by then, and would only flicker."""

MOST_UNDER_WAY = 50
"""Requests that are shown before they have ended."""

Long = tuple[tuple[float, int, bool], ...]

UNREAD = "what is kept of it cannot be read now"


class LocalViews:
    """Of one runtime, and of the feed that is one of its sinks."""

    def __init__(self, runtime: Runtime, feed: Feed, worker: str = "") -> None:
        self._runtime = runtime
        self._feed = feed
        self._worker = worker
        feed.find_spec = self._spec
        runtime.oversight.watch_requests()

    @property
    def _seen(self) -> Oversight:
        return self._runtime.oversight

    def _spec(self, principal: Principal, name: str) -> ToolSpec | None:
        standing = self._seen.session(principal)
        return None if standing is None or not standing.toolbox.has(name) else standing.toolbox.resolve(name).spec

    async def overview(self) -> Overview:
        feed, seen = self._feed, self._seen
        feed.take_in()
        drift = tuple(drift_key(each) for name in seen.servers for each in seen.drift(name))
        who = {each.principal for each in seen.sessions()} | feed.sessions().keys()
        return Overview(
            version=__version__,
            at=time.time(),
            since=feed.since,
            shows="",
            worker=self._worker,
            unready=self._runtime.unready(),
            servers=self._servers(),
            sessions=len(who),
            who=tuple(map(session_id, who)),
            calls=feed.calls,
            failures=feed.failures,
            refused=feed.refused,
            kept=feed.kept,
            waiting=len(seen.desk.waiting()),
            drifted=len(drift),
            drift=drift,
        )

    def _servers(self) -> tuple[ServerRow, ...]:
        seen, notes, masked = self._seen, self._feed.servers, self._runtime.masked
        return tuple(server_row(config, seen, notes.of(name), masked) for name, config in seen.servers.items())

    async def sessions(self) -> tuple[SessionRow, ...]:
        """Those in memory, and of the others the last ones."""
        notes, seen = self._feed.sessions(), self._seen
        here = [self._session_row(standing) for standing in seen.sessions()]
        gone = [principal for principal in notes if seen.session(principal) is None][:MOST_SESSIONS]
        rows = [*here, *[(await self._kept(principal))[0] for principal in gone]]
        return tuple(sorted(rows, key=lambda row: row.last or 0.0, reverse=True))

    def _session_row(self, standing: Standing) -> SessionRow:
        waiting = Counter(each.approval.principal for each in self._seen.desk.waiting())
        return row_of(standing, self._feed.session(standing.principal), waiting[standing.principal])

    async def _kept(self, principal: Principal) -> tuple[SessionRow, tuple[Receipt, ...], dict[str, str]]:
        """One that is no longer in memory, from the store."""
        note = self._feed.session(principal)
        try:
            record, receipts = await self._seen.kept(principal)
        except StoreError:
            return row_unread(principal, UNREAD, note), (), {}
        because = receipt_view(receipts[-1]).cause if receipts else ""
        datasets = {name: word(level) for name, level in record.datasets.items()}
        return row_of_record(record, because, note), receipts, datasets

    async def session(self, session_id: str) -> SessionDetail | None:
        principal = principal_of(session_id)
        if principal is None:
            return None
        standing = self._seen.session(principal)
        if standing is None:
            return await self._forgotten(principal)
        row, receipts = self._session_row(standing), self._seen.receipts(principal)
        tools = self._what_if(standing, standing.ratchet.level).tools
        blocked = tuple(each for each in tools if each.now.verdict == "refuse")
        datasets = {name: word(level) for name, level in self._seen.datasets(principal).items()}
        told = (tuple(ladder(row.level, receipts)), tuple(map(receipt_view, receipts)), datasets)
        return SessionDetail(row, *told, blocked, len(tools) - len(blocked))

    async def _forgotten(self, principal: Principal) -> SessionDetail | None:
        if principal not in self._feed.sessions():
            return None
        row, receipts, datasets = await self._kept(principal)
        told = (tuple(ladder(row.level, receipts)), tuple(map(receipt_view, receipts)), datasets)
        return SessionDetail(row, *told, (), 0, here=False)

    async def what_if(self, session_id: str, level: DataSensitivity) -> WhatIf | None:
        principal = principal_of(session_id)
        standing = self._seen.session(principal) if principal is not None else None
        return None if standing is None else self._what_if(standing, level)

    def _what_if(self, standing: Standing, level: DataSensitivity) -> WhatIf:
        seen, now = self._seen, standing.ratchet.level
        then = max(level, now)
        foreseen = seen.foresee(standing, now), seen.foresee(standing, then)
        twins = {each: seen.twins(each) for each in DataSensitivity}
        tools = tuple(sorted(forecasts(*foreseen, (twins, {})), key=lambda each: (each.server, each.name)))
        lanes = (lane_for(now), lane_for(then))
        return WhatIf(session_id(standing.principal), word(now), word(then), *lanes, tools)

    async def timeline(self, *, session_id: str = "", before: str = "", most: int = MOST_CALLS) -> Timeline:
        whose, place = principal_of(session_id) if session_id else None, place_of(before)
        if session_id and whose is None:
            return Timeline((), 0)
        feed = self._feed

        def wanted(note: CallNote) -> bool:
            older = place is None or (note.at, feed.id, note.seq) < place
            return older and (whose is None or note.principal == whose)

        calls = tuple(call_row(note, feed.id) for note in islice(feed.recent(wanted), most))
        all_of_them = feed.kept if place is None and whose is None else feed.count(wanted)
        under_way = () if place is not None else self._under_way(whose)
        return Timeline(calls, max(0, all_of_them - len(calls)), under_way)

    def _under_way(self, whose: Principal | None = None) -> tuple[UnderWay, ...]:
        now, feed = (time.time(), time.perf_counter()), self._feed
        wanted = (each for each in self._seen.begun(LONG) if whose is None or each.principal == whose)
        return tuple(
            under_way_row(each, feed.shown_name(each.name, each.server, each.method), now)
            for each in islice(wanted, MOST_UNDER_WAY)
        )

    async def call(self, id_: str) -> CallDetail | None:
        feed, _, seq = id_.partition("-")
        known = feed == self._feed.id and seq.isascii() and seq.isdigit()
        note = self._feed.call(int(seq[:15])) if known else None
        return None if note is None else call_detail(note, feed, self._runtime.masked)

    async def tools(self) -> tuple[ToolRow, ...]:
        rows = [_tool_row(server, name, tally) for (server, name), tally in self._tallies()]
        return tuple(sorted(rows, key=lambda row: (-row.calls, row.server, row.name))[:MOST_TOOLS])

    def _tallies(self) -> Iterator[tuple[tuple[str, str], Tally]]:
        """Of all tools that were called, and of those that could be."""
        called, seen, none = self._feed.tools(), self._seen, Tally()
        yield from called.items()
        for server in seen.servers:
            listing = seen.listing(server)
            for entry in () if listing is None else listing.entries.values():
                if entry.spec.status is ToolStatus.EXPOSED and (server, entry.spec.name) not in called:
                    yield (server, entry.spec.name), none

    async def server(self, name: str) -> ServerDetail | None:
        seen, masked = self._seen, self._runtime.masked
        config = seen.servers.get(name)
        if config is None:
            return None
        log = await seen.log(name, LOG_LINES)
        return ServerDetail(
            row=server_row(config, seen, self._feed.servers.of(name), masked),
            links=link_rows((link for link in seen.links() if link.key.server == name), masked),
            tools=listed_tools(seen.listing(name)),
            drift=tuple(map(drift_view, seen.drift(name))),
            log=tuple(log_view(line, masked) for line in log),
            hosts=tuple(host_view(note) for note in reversed(self._feed.hosts) if note.server == name),
        )

    async def drift(self) -> tuple[Drift, ...]:
        return tuple(drift_view(each) for name in self._seen.servers for each in self._seen.drift(name))

    async def asks(self) -> tuple[AskView, ...]:
        return tuple(map(self._ask, self._seen.desk.waiting()))

    def _ask(self, waiting: Waiting) -> AskView:
        approval, principal = waiting.approval, waiting.approval.principal
        whole = escaped_json(self._runtime.masked(msgspec.json.encode(approval.arguments).decode()))
        return AskView(
            id=waiting.id,
            name=approval.name,
            server=approval.server,
            tool=approval.tool,
            session_id=session_id(principal),
            user=principal.user_id,
            session=principal.session_id,
            message=approval.message,
            arguments=whole[:MOST_SHOWN],
            left_out=max(0, len(whole) - MOST_SHOWN),
            since=waiting.since,
            until=waiting.until,
        )

    async def search(self, query: str) -> Found:
        wanted = query_of(query)
        servers, more = found(self._servers(), wanted, lambda row: {"server": row.name, "state": row.state})
        sessions, more_sessions = found(await self.sessions(), wanted, _session_texts)
        tools, more_tools = found(await self.tools(), wanted, lambda row: {"tool": row.name, "server": row.server})
        calls, more_calls = found(self._feed.recent(), wanted, _call_texts)
        more = more or more_sessions or more_tools or more_calls
        rows = tuple(call_row(note, self._feed.id) for note in calls)
        return Found(query, wanted.problem, servers, sessions, tools, rows, more)

    async def news(self, last: str = "") -> AsyncGenerator[News]:
        feed = self._feed
        known, number, then = [*last.split(".", 2), "", ""][:3]
        seq = int(number) if known == feed.id and number.isascii() and number.isdigit() else None
        long = self._long()
        if seq is None or seq > feed.seq:
            seq = feed.seq
            yield News(f"{feed.id}.{seq}.{_word(long)}", bool(last), (), ())
        else:
            news, seq = self._news(seq, long, moved=_word(long) != then), feed.seq
            yield news
        while True:
            if feed.seq == seq:
                await self._happening(seq, long)
            now = self._long()
            news, seq = self._news(seq, now, moved=now != long), feed.seq
            long = now
            yield news

    async def _happening(self, seq: int, long: object) -> None:
        """Until something does, or a while has passed. That a request takes long tells nobody, so it is looked at; only
        while somebody waits here."""
        for _ in range(GLANCES):
            try:
                async with asyncio.timeout(GLANCE):
                    return await self._feed.watchers.wait()
            except TimeoutError:
                # Something may have happened for which nobody was woken yet.
                if self._feed.seq != seq or self._long() != long:
                    return None
        return None

    def _long(self) -> Long:
        """Requests that take long, each with how far it has come."""
        begun = islice(self._seen.begun(LONG), MOST_UNDER_WAY)
        return tuple((each.started, len(each.steps), each.waits) for each in begun)

    def _news(self, seq: int, long: Long, *, moved: bool) -> News:
        feed = self._feed
        calls = feed.since_seq(seq, MOST_NEWS)
        told = () if calls is None else tuple(call_row(note, feed.id) for note in calls)
        topics: tuple[Topic, ...] = ("underway",) if moved else ()
        return News(f"{feed.id}.{feed.seq}.{_word(long)}", calls is None, (*feed.topics(seq), *topics), told)


def _word(long: Long) -> str:
    """Tells it from others, in few letters."""
    return f"{crc32(repr(long).encode()):x}"


def _tool_row(server: str, name: str, tally: Tally) -> ToolRow:
    return ToolRow(
        name=name,
        server=server,
        calls=tally.calls,
        failures=tally.failures,
        p50=tally.percentile(0.5),
        p90=tally.percentile(0.9),
        p99=tally.percentile(0.99),
        kinds=tally.kinds,
        last=tally.last if tally.calls else None,
        buckets={index: count for index, count in enumerate(tally.buckets) if count},
    )


def _session_texts(row: SessionRow) -> dict[str, str]:
    return {"user": row.user, "session": row.session, "lane": row.lane, "level": row.level}


def _call_texts(note: CallNote) -> dict[str, str]:
    who = note.principal
    return {
        "tool": note.name,
        "server": note.server,
        "user": who.user_id,
        "session": who.session_id,
        "outcome": note.outcome,
        "code": note.code,
        "lane": note.lane,
        "rule": note.rule,
        "method": note.method,
    }
