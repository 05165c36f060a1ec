"""Merge of the views of several workers into one. Pure."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from bascule.dashboard.views.search import MOST_FOUND
from bascule.dashboard.views.servers import BEST_FIRST
from bascule.dashboard.views.shapes import (
    CallRow,
    Drift,
    Found,
    LinkCount,
    LogLineView,
    Overview,
    ServerDetail,
    ServerRow,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
)
from bascule.records.feed.stats import BOUNDS, percentile

LEVELS = ("public", "internal", "confidential", "secret")

STATES = tuple(state.value for state in BEST_FIRST)

Row = TypeVar("Row")


def _by(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[Row]]:
    """In the order in which each is first met."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _latest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def overview_of(told: Sequence[Overview], shows: str) -> Overview:
    """The first is that of the worker that answers."""
    who = tuple(dict.fromkeys(id_ for each in told for id_ in each.who))
    drift = tuple(dict.fromkeys(change for each in told for change in each.drift))
    return replace(
        told[0],
        since=min(each.since for each in told),
        shows=shows,
        unready=tuple(dict.fromkeys(word for each in told for word in each.unready)),
        servers=servers_of(row for each in told for row in each.servers),
        sessions=len(who),
        who=who,
        calls=sum(each.calls for each in told),
        failures=sum(each.failures for each in told),
        refused=sum(each.refused for each in told),
        kept=sum(each.kept for each in told),
        waiting=sum(each.waiting for each in told),
        drifted=len(drift),
        drift=drift,
    )


def servers_of(rows: Iterable[ServerRow]) -> tuple[ServerRow, ...]:
    return tuple(server_of(same) for same in _by(rows, lambda row: row.name).values())


def server_of(rows: Sequence[ServerRow]) -> ServerRow:
    """As good as it is anywhere, with all its links."""
    best = min(rows, key=_standing)
    counts = Counter[tuple[str, str]]()
    for link in (link for row in rows for link in row.links):
        counts[link.lane, link.state] += link.count
    errors = [row.error for row in rows if row.error is not None]
    return replace(
        best,
        tools=max(row.tools for row in rows),
        quarantined=max(row.quarantined for row in rows),
        links=tuple(LinkCount(lane, state, count) for (lane, state), count in sorted(counts.items())),
        restarts=sum(row.restarts for row in rows),
        error=max(errors, key=lambda error: error.at or 0.0) if errors else None,
        since=_latest(row.since for row in rows),
    )


def _standing(row: ServerRow) -> int:
    return STATES.index(row.state) if row.state in STATES else len(STATES)


def sessions_of(rows: Iterable[SessionRow]) -> tuple[SessionRow, ...]:
    made = [session_of(same) for same in _by(rows, lambda row: row.id).values()]
    return tuple(sorted(made, key=lambda row: row.last or 0.0, reverse=True))


def session_of(rows: Sequence[SessionRow]) -> SessionRow:
    """As private as anybody says it is. One who has not read its level yet says nothing of it, if another has."""
    known = [row for row in rows if row.known] or rows
    return replace(
        max(known, key=lambda row: (LEVELS.index(row.level), row.last or 0.0)),
        ended=any(row.ended for row in rows),
        calls=sum(row.calls for row in rows),
        failures=sum(row.failures for row in rows),
        refused=sum(row.refused for row in rows),
        waiting=sum(row.waiting for row in rows),
        last=_latest(row.last for row in rows),
    )


def session_detail_of(told: Sequence[SessionDetail]) -> SessionDetail:
    """By the one that has it in memory, and served it last."""
    best = max(told, key=lambda each: (each.here, LEVELS.index(each.row.level), each.row.last or 0.0))
    return replace(best, row=replace(session_of([each.row for each in told]), level=best.row.level, lane=best.row.lane))


def timeline_of(told: Sequence[Timeline], most: int) -> Timeline:
    calls = newest_first(call for each in told for call in each.calls)
    under_way = sorted((call for each in told for call in each.under_way), key=lambda call: call.began)
    more = sum(each.more for each in told) + max(0, len(calls) - most)
    return Timeline(calls[:most], more, tuple(under_way))


def newest_first(calls: Iterable[CallRow]) -> tuple[CallRow, ...]:
    """In the order by which pages of them follow each other."""
    return tuple(sorted(calls, key=_place, reverse=True))


def _place(call: CallRow) -> tuple[float, str, int]:
    feed, _, number = call.id.partition("-")
    return call.at, feed, int(number)


def tools_of(rows: Iterable[ToolRow]) -> tuple[ToolRow, ...]:
    made = [tool_of(same) for same in _by(rows, lambda row: (row.server, row.name)).values()]
    return tuple(sorted(made, key=lambda row: row.calls, reverse=True))


def tool_of(rows: Sequence[ToolRow]) -> ToolRow:
    if len(rows) == 1:
        return rows[0]
    buckets = Counter[int]()
    kinds = Counter[str]()
    for row in rows:
        buckets.update(row.buckets)
        kinds.update(row.kinds)
    whole = [buckets[index] for index in range(len(BOUNDS) + 1)]
    return replace(
        rows[0],
        calls=sum(row.calls for row in rows),
        failures=sum(row.failures for row in rows),
        p50=percentile(whole, 0.5),
        p90=percentile(whole, 0.9),
        p99=percentile(whole, 0.99),
        kinds=dict(kinds),
        last=_latest(row.last for row in rows),
        buckets=dict(buckets),
    )


def drift_of(rows: Iterable[Drift]) -> tuple[Drift, ...]:
    """Each change once: all workers of a machine find the same."""
    return tuple(same[0] for same in _by(rows, lambda row: (row.server, row.tool, row.digest)).values())


def server_detail_of(told: Sequence[ServerDetail], lines: int) -> ServerDetail:
    logs = Counter[LogLineView]()
    for each in told:
        logs |= Counter(each.log)
    listed = max(told, key=lambda each: len(each.tools))
    hosts = sorted((host for each in told for host in each.hosts), key=lambda host: host.at, reverse=True)
    return ServerDetail(
        row=server_of([each.row for each in told]),
        links=tuple(link for each in told for link in each.links),
        tools=listed.tools,
        drift=drift_of(row for each in told for row in each.drift),
        # Workers of one machine write to one file, so what all of them read there was said once.
        log=tuple(sorted(logs.elements(), key=lambda line: line.at)[-lines:]),
        hosts=tuple(hosts),
    )


def found_of(told: Sequence[Found]) -> Found:
    servers = servers_of(row for each in told for row in each.servers)
    sessions = sessions_of(row for each in told for row in each.sessions)
    tools = tools_of(row for each in told for row in each.tools)
    calls = newest_first(call for each in told for call in each.calls)
    more = any(each.more for each in told) or any(len(rows) > MOST_FOUND for rows in (sessions, tools, calls))
    return replace(
        told[0],
        servers=servers,
        sessions=sessions[:MOST_FOUND],
        tools=tools[:MOST_FOUND],
        calls=calls[:MOST_FOUND],
        more=more,
    )
