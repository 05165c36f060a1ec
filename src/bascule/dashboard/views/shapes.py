"""View models of the dashboard as frozen values; `msgspec.json.encode` writes each as JSON with these field names.
Times are seconds since the epoch, durations are seconds, levels and lanes are lower-case words."""

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


class Overview(Shape, frozen=True):
    """The first page."""

    version: str
    at: float
    since: float
    """When the feed began: nothing from before is shown."""
    shows: str
    """Empty, or what is to be said because this is not all there is: a worker that does not answer, say."""
    worker: str
    """Whose answer this is, as people call it. Empty where there is only one."""
    unready: tuple[str, ...]
    """Why requests had better go elsewhere now. Empty where nothing is in the way."""
    servers: tuple[ServerRow, ...]
    sessions: int
    who: tuple[str, ...]
    """The ids of these, so that those which several workers know of are counted once."""
    calls: int
    failures: int
    """Of those calls, the ones that did not go well, refused ones included."""
    refused: int
    """Of the failures, those that a rule refused."""
    kept: int
    """Calls that are still there to be looked at."""
    waiting: int
    drifted: int
    drift: tuple[tuple[str, str, str], ...]
    """Server, tool and digest of each of these, for the same reason."""


class SessionRow(Shape, frozen=True):
    """One agent session."""

    id: str
    """For addresses of pages: letters, digits, `-` and `_`."""
    user: str
    session: str
    level: str
    lane: str
    because: str
    known: bool
    """Whether its level was read from the store yet; until then it counts as secret."""
    ended: bool
    calls: int
    failures: int
    refused: int
    waiting: int
    last: float | None


class StepView(Shape, frozen=True):
    """One step of a call: a bar of the waterfall."""

    name: str
    """`resolve`, `validate`, `ask`, `decide`, `lease`, `send`, `read`, `wrapper`, and `rest` for what came after the
    last. The last step of a call that failed is the one in which it did."""
    start: float
    """Seconds after the call began."""
    seconds: float


class CallRow(Shape, frozen=True):
    """One call, or another request, that has ended."""

    id: str
    """The feed's and its number there: no other call has it, whichever worker served it."""
    at: float
    """When it ended."""
    seconds: float
    session_id: str
    user: str
    session: str
    name: str
    """As the caller named it."""
    server: str
    method: str
    """`tools/call`, `resources/read`, `prompts/get`, …"""
    lane: str
    outcome: str
    """`ok`, or the kind of the failure: `denied`, `timeout`, `tool_error`, …"""
    code: str
    rule: str
    steps: tuple[StepView, ...]

    @property
    def began(self) -> float:
        return self.at - self.seconds

    @property
    def place(self) -> str:
        """Where it stands among all calls, as a word for addresses (`place_of` reads it)."""
        return f"{self.at!r}-{self.id}"


class UnderWay(Shape, frozen=True):
    """One request that has not ended yet."""

    id: str
    at: float
    """The time at which this was true."""
    seconds: float
    """How long it had taken by then."""
    session_id: str
    user: str
    session: str
    name: str
    server: str
    method: str
    lane: str
    step: str
    """The one it is in."""
    steps: tuple[StepView, ...]
    """All of them, the one it is in last."""

    @property
    def began(self) -> float:
        return self.at - self.seconds


class CallDetail(Shape, frozen=True):
    """A call, and all that is kept of it. No argument and no result is: only their shapes."""

    call: CallRow
    arguments: dict[str, str]
    """By name: `string[12]`, `number`, `array[3]`, …"""
    result: tuple[str, ...]
    """The shape of each block of the result: `text[120]`, `image`, `structured: object[3]`, …"""
    message: str
    """Why it was refused, in the words of the rule. Empty for other outcomes: those words may be a server's."""
    fix: str
    findings: int
    """How many things were odd about the reply, and changed nothing."""
    local: str
    """What became of what it had changed on our side."""
    remote: str
    noted: int
    """The number of its record in the audit log; 0 where none was written before it was sent."""
    trace: str
    """The id of its trace, where there is telemetry."""


MOST_CALLS = 200
"""Calls on one page, unless it asks for more."""

LOG_LINES = 200
"""Lines of a server's log on its page."""


class Timeline(Shape, frozen=True):
    """Calls, newest first."""

    calls: tuple[CallRow, ...]
    more: int
    """How many older ones were left out."""
    under_way: tuple[UnderWay, ...] = ()
    """Those that take long and have not ended yet, the oldest first."""


class ReceiptView(Shape, frozen=True):
    """One change of a level."""

    number: int
    at: float
    change: str
    """`raise`, `declassify` or `end`."""
    before: str
    after: str
    cause: str
    by: str
    server: str
    tool: str
    dataset: str
    closed: tuple[str, ...]
    twins: dict[str, str]
    """By server: what serves its tools from then on."""
    fence: str


class Rung(Shape, frozen=True):
    """One level of the ladder, lowest first."""

    level: str
    lane: str
    place: Literal["below", "now", "above"]
    reached: ReceiptView | None
    """What last raised the agent session to this very level."""


class VerdictView(Shape, frozen=True):
    """What becomes of a call of one tool."""

    verdict: Literal["allow", "ask", "refuse"]
    by: str
    """Who serves it: `itself`, or in its place `probed`, `declared`, `vouched`, `native`. Empty where it is refused."""
    lane: str
    rule: str
    message: str
    fix: str


class Forecast(Shape, frozen=True):
    """One tool, now and at another level."""

    name: str
    server: str
    tool: str
    """The server's own name for it."""
    permissions: tuple[str, ...]
    now: VerdictView
    then: VerdictView
    changes: bool
    raises: str
    """The level that a call of it raises to. Empty where it raises to none."""


class WhatIf(Shape, frozen=True):
    """What would become of every tool of an agent session if it were at least at this level."""

    session_id: str
    now: str
    then: str
    lane_now: str
    lane_then: str
    tools: tuple[Forecast, ...]


class SessionDetail(Shape, frozen=True):
    """One agent session with its ladder."""

    row: SessionRow
    ladder: tuple[Rung, ...]
    receipts: tuple[ReceiptView, ...]
    datasets: dict[str, str]
    blocked: tuple[Forecast, ...]
    """Tools that are refused now, each with the rule that does; their `then` is the same as their `now`."""
    served: int
    """Tools that can be called now."""
    here: bool = True
    """Whether whoever answers this has it in memory. Else it is told by what is kept."""


class ToolRow(Shape, frozen=True):
    """What was seen of one tool."""

    name: str
    """As callers name it."""
    server: str
    calls: int
    failures: int
    p50: float | None
    """Seconds. None where nothing was called yet."""
    p90: float | None
    p99: float | None
    kinds: dict[str, int]
    """How many calls ended in each way: `ok`, `denied`, `timeout`, …"""
    last: float | None
    buckets: dict[int, int]
    """How many calls took how long (`records.feed.stats`): of two workers' percentiles none can be made, of these they
    can."""


class AskView(Shape, frozen=True):
    """A call that waits for a person. Whoever is asked has to see what is sent, so the arguments are here, without the
    secrets of the config; they are kept for no longer than the call waits."""

    id: str
    name: str
    server: str
    tool: str
    session_id: str
    user: str
    session: str
    message: str
    arguments: str
    left_out: int
    """Characters of the arguments that are not shown."""
    since: float
    until: float
    """From then on it is refused."""


class Found(Shape, frozen=True):
    """What a search has found, the newest first, each kind up to a bound."""

    query: str
    problem: str
    """What is wrong with the query, if anything is."""
    servers: tuple[ServerRow, ...]
    sessions: tuple[SessionRow, ...]
    tools: tuple[ToolRow, ...]
    calls: tuple[CallRow, ...]
    more: bool
    """Whether there are more than are shown."""


Topic = Literal["calls", "underway", "sessions", "servers", "tools", "asks", "drift", "workers"]


class News(Shape, frozen=True):
    """What has changed since the last time. `id` is for the next time (`Last-Event-ID`)."""

    id: str
    reload: bool
    """Whether more has changed than is told here: look at everything again."""
    topics: tuple[Topic, ...]
    calls: tuple[CallRow, ...]
    """Those that ended since, oldest first."""


class Deed(Shape, frozen=True):
    """What became of an action."""

    ok: bool
    told: str
    error: ErrorView | None = None
