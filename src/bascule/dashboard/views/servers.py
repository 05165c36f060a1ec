"""View models of servers: links, listed tools, drift, logs and egress hosts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from bascule.catalog.approval import Proposal
from bascule.catalog.pinning.lock import Approved
from bascule.catalog.server_listing import ServerListing
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.core.errors import BasculeError
from bascule.core.principal import Nobody
from bascule.core.sensitivity import DataSensitivity
from bascule.core.text.invisible_chars import escaped, escaped_json
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.dashboard.views.shapes import (
    Drift,
    ErrorView,
    HostView,
    LinkCount,
    LinkRow,
    ListedTool,
    LogLineView,
    ServerRow,
)
from bascule.records.feed.hosts import HostNote
from bascule.records.feed.servers import ServerNote
from bascule.records.server_logs.file import LogLine
from bascule.runtime.admin import Oversight
from bascule.upstream.link import Link
from bascule.upstream.state import LinkState

BEST_FIRST = (
    LinkState.READY,
    LinkState.DEGRADED,
    LinkState.CONNECTING,
    LinkState.NEEDS_AUTH,
    LinkState.FAILED,
    LinkState.CLOSED,
)
"""How a server stands whose links stand differently: as the best of them. The others are counted beside it."""

LONGEST_TEXT = 2000
"""Characters of one text of a server that are shown."""

LONGEST_DEFINITION = 50_000
"""Characters of one definition that are shown whole, beside what has changed in it."""

Masked = Callable[[str], str]


def server_row(config: ServerConfig, seen: Oversight, note: ServerNote, masked: Masked) -> ServerRow:
    name = config.name
    links = [link for link in seen.links() if link.key.server == name]
    error, listing = seen.error(name), seen.listing(name)
    state, reason = _state(links, error)
    spoken = next((link for link in links if link.agreement is not None), None)
    statuses = Counter(spec.status for spec in _specs(listing))
    return ServerRow(
        name=name,
        transport=(spoken.kind if spoken is not None else "") or config.transport.kind,
        state=state,
        reason=masked(reason),
        era=spoken.agreement.version if spoken is not None and spoken.agreement is not None else "",
        tools=statuses[ToolStatus.EXPOSED],
        quarantined=statuses[ToolStatus.QUARANTINED],
        links=link_counts(links),
        restarts=note.restarts,
        error=_error(error, note, masked),
        box=seen.box(config) if isinstance(config.transport, StdioTransport) else "",
        twin=seen.twins(DataSensitivity.SECRET).get(name, ""),
        required=config.required,
        since=note.changed,
    )


def _state(links: Sequence[Link], error: BasculeError | None) -> tuple[str, str]:
    conditions = [link.condition for link in links]
    for state in BEST_FIRST:
        found = next((each for each in conditions if each.state is state), None)
        if found is not None and not (state is LinkState.CLOSED and error is not None):
            return state.value, found.reason
    return (LinkState.FAILED.value, error.message) if error is not None else (LinkState.CONFIGURED.value, "")


def _error(error: BasculeError | None, note: ServerNote, masked: Masked) -> ErrorView | None:
    if error is not None and (not note.code or note.code == error.code):
        return error_view(error, masked, note.failed)
    if note.failed is None:
        return None
    return ErrorView(note.code, masked(note.reason), at=note.failed)


def error_view(error: BasculeError, masked: Masked, at: float | None = None) -> ErrorView:
    return ErrorView(error.code, masked(error.message), masked(error.fix), masked(error.evidence), at)


def link_counts(links: Iterable[Link]) -> tuple[LinkCount, ...]:
    counts = Counter((link.key.lane.value, link.condition.state.value) for link in links)
    return tuple(LinkCount(lane, state, count) for (lane, state), count in sorted(counts.items()))


def link_rows(links: Iterable[Link], masked: Masked) -> tuple[LinkRow, ...]:
    return tuple(
        LinkRow(
            lane=link.key.lane,
            user="" if isinstance(link.key.principal, Nobody) else link.key.principal.user_id,
            session="" if isinstance(link.key.principal, Nobody) else link.key.principal.session_id,
            state=link.condition.state,
            reason=masked(link.condition.reason),
            era=link.agreement.version if link.agreement is not None else "",
            transport=link.kind,
        )
        for link in links
    )


def listed_tools(listing: ServerListing | None) -> tuple[ListedTool, ...]:
    """What a server lists. Whatever its texts hide is written out."""
    return tuple(
        ListedTool(
            name=spec.name,
            tool=spec.key.tool,
            status=spec.status,
            problem=spec.problem,
            permissions=tuple(sorted(spec.permissions)),
            description=escaped(spec.description[:LONGEST_TEXT]),
        )
        for spec in _specs(listing)
    )


def _specs(listing: ServerListing | None) -> tuple[ToolSpec, ...]:
    return () if listing is None else tuple(entry.spec for entry in listing.entries.values())


def drift_view(proposal: Proposal) -> Drift:
    """What hides in a definition shows as an escape: whoever approves it has to see it."""
    return Drift(
        server=proposal.key.server,
        tool=proposal.key.tool,
        change=proposal.change,
        digest=drift_key(proposal)[2],
        diff=tuple(escaped(line) for line in proposal.diff()),
        before=_definition(proposal.before),
        after=_definition(proposal.after),
        findings=tuple(map(str, proposal.findings)),
    )


def drift_key(proposal: Proposal) -> tuple[str, str, str]:
    """Server, tool, and the digest of what would be approved."""
    return proposal.key.server, proposal.key.tool, proposal.after.digest if proposal.after is not None else ""


def _definition(approved: Approved | None) -> str:
    if approved is None:
        return ""
    told = escaped_json(msgspec.json.format(msgspec.json.encode(approved.definition), indent=2).decode())
    left_out = len(told) - LONGEST_DEFINITION
    return told if left_out <= 0 else f"{told[:LONGEST_DEFINITION]}\n… {left_out} more characters are not shown"


def log_view(line: LogLine, masked: Masked) -> LogLineView:
    text = escaped(masked(line.text)[:LONGEST_TEXT])
    return LogLineView(line.at, line.kind, line.user, line.session, line.state or "", text)


def host_view(note: HostNote) -> HostView:
    who = note.principal
    return HostView(
        note.at,
        note.server,
        who.user_id,
        who.session_id,
        escaped(note.host[:LONGEST_TEXT]),
        note.port,
        note.refused,
        note.sent,
        note.received,
    )
