"""What the dashboard shows of servers, as frozen values. `shapes` has the rest of them."""

from typing import Literal

import msgspec


class Shape(msgspec.Struct, frozen=True):
    """One thing that is shown."""


class ErrorView(Shape, frozen=True):
    """Why something does not work, without any secret."""

    code: str
    message: str
    fix: str = ""
    evidence: str = ""
    at: float | None = None


class LinkCount(Shape, frozen=True):
    """How many links of one server are on one lane in one state."""

    lane: str
    state: str
    count: int


class ServerRow(Shape, frozen=True):
    """One configured server, with what all agent sessions have to do with it."""

    name: str
    transport: str
    """`stdio`, `http`, `sse`, `ws`, `docker`, `native`, …"""
    state: str
    """`configured` (not tried yet), `connecting`, `ready`, `degraded`, `needs-auth`, `failed`, `closed`."""
    reason: str
    era: str
    """The version of the protocol that is spoken, once one is."""
    tools: int
    quarantined: int
    """Those that wait for approval, or are kept back."""
    links: tuple[LinkCount, ...]
    restarts: int
    error: ErrorView | None
    """The last failure, also if it is over: `state` tells whether it is."""
    box: str
    """What its process runs in: `bubblewrap`, `docker`, `podman`, …, or `none`. Empty for one that is no process."""
    twin: str
    """What serves its tools once an agent session is SECRET: `probed`, `declared`, `vouched`, `native` or `refused`."""
    required: bool
    since: float | None


class ListedTool(Shape, frozen=True):
    """A tool as its server lists it."""

    name: str
    tool: str
    status: str
    """`exposed`, `hidden`, `quarantined`, `colliding` or `unusable`."""
    problem: str
    permissions: tuple[str, ...]
    description: str


class Drift(Shape, frozen=True):
    """A tool that is not as it was approved."""

    server: str
    tool: str
    change: Literal["new", "changed", "removed"]
    digest: str
    """Of what would be approved; given back with the approval. Empty for one that is gone."""
    diff: tuple[str, ...]
    """Lines: those that begin with `-` were approved, those with `+` are listed now."""
    before: str
    """The whole definition as JSON, one value a line. Empty for a new one."""
    after: str
    findings: tuple[str, ...]


class LogLineView(Shape, frozen=True):
    """A line of a server's log."""

    at: float
    kind: str
    """`stderr`, `link`, or `note`."""
    user: str
    session: str
    state: str
    text: str


class HostView(Shape, frozen=True):
    """A host that a boxed server asked the egress proxy for."""

    at: float
    server: str
    user: str
    session: str
    host: str
    port: int | None
    refused: str
    """Why it was not let through. Empty if it was."""
    sent: int
    received: int


class LinkRow(Shape, frozen=True):
    """One link."""

    lane: str
    user: str
    """Empty where it is shared by all."""
    session: str
    state: str
    reason: str
    era: str
    transport: str


class ServerDetail(Shape, frozen=True):
    """One server, looked at closely."""

    row: ServerRow
    links: tuple[LinkRow, ...]
    tools: tuple[ListedTool, ...]
    drift: tuple[Drift, ...]
    log: tuple[LogLineView, ...]
    hosts: tuple[HostView, ...]
