"""State of one request in progress: the facts for its event and its failure, and the duration of each step."""

import asyncio
from collections.abc import Callable, ItemsView, Iterator, Mapping
from functools import partial
from time import perf_counter

from bascule.config.model.result_presets import Preset
from bascule.core.call import Inquiry, ToolCall
from bascule.core.errors import BasculeError, OutcomeWithheld, Refused, UnknownTool
from bascule.core.events import shape_of
from bascule.core.json_types import JsonObject
from bascule.core.outcome import ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.trace_context import Span
from bascule.core.undo.transaction import Ending, Remote, Transaction
from bascule.runtime.failures import aborted, broken, failure_of
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.progress_buffer import Withholding
from bascule.runtime.rate_meter import Meter
from bascule.store.deadline import StoreWait
from bascule.upstream.link import Link


class Steps(Mapping[str, float]):
    """Seconds per step. Every call takes the times, few are asked for them: `marks` gets an instant at the end of each
    step, and the sums are made when they are read."""

    __slots__ = ("marks", "started")

    def __init__(self) -> None:
        self.started = perf_counter()
        self.marks: list[tuple[str, float]] = []

    def __getitem__(self, step: str) -> float:
        return self._sums()[step]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sums())

    def items(self) -> ItemsView[str, float]:
        return self._sums().items()

    def __len__(self) -> int:
        return len(self._sums())

    def __repr__(self) -> str:
        return repr(self._sums())

    def _sums(self) -> dict[str, float]:
        sums: dict[str, float] = {}
        last = self.started
        for step, instant in self.marks:
            # A step can come round again: a call is decided anew when its agent session changed under it.
            sums[step] = sums.get(step, 0.0) + instant - last
            last = instant
        return sums


# To find a member in its enum takes Python 3.11 ten times as long as a name of the module, and every call does.
_OPEN, _NOTHING = Lane.OPEN, Ending.NOTHING


class Trail:
    """How far one request has come: what its event and its failure have to tell.

    No struct: it is written to a dozen times in the course of a call, which takes a struct six times as long.
    """

    __slots__ = (
        "agreed",
        "answered",
        "changes",
        "doubt",
        "findings",
        "lane",
        "local",
        "mark",
        "meter",
        "name",
        "native",
        "noted",
        "prepared",
        "preset",
        "raw",
        "respondent",
        "rule",
        "server",
        "shapes",
        "span",
        "spec",
        "steps",
        "store_wait",
        "tool",
        "unread",
        "withholding",
        "writes",
    )

    def __init__(self, call: ToolCall | Inquiry, workspace: Callable[[], object] | None = None) -> None:
        self.steps = steps = Steps()
        self.mark = steps.marks.append
        """Takes a step's name and the instant in which it ended."""
        self.name = self.tool = call.name
        self.shapes = shape_of(call.arguments)
        self.changes = Transaction(workspace)
        """What it has changed on our side."""
        self.server = ""
        self.lane = _OPEN
        self.raw: JsonObject | None = None
        self.findings: tuple[str, ...] = ()
        self.meter: Meter | None = None
        """Where it counts as under way, from the decision on."""
        self.agreed = False
        """Whether a person was asked, and agreed."""
        self.unread: DataSensitivity | None = None
        """Set while it has been sent and nothing readable has come: the level that this alone raises to."""
        self.withholding: Withholding | None = None
        self.doubt: Link | None = None
        """Set while it has been sent and not answered: by which link. Its server may be at it."""
        self.local = _NOTHING
        self.writes = False
        """Whether it is about something that may change the world at its server."""
        self.answered = False
        """Whether its server has answered it, or a try of it."""
        self.rule = ""
        """The rule that refused it."""
        self.spec: object = None
        """What it is about, once that was found."""
        self.prepared: Prepared | None = None
        """What will travel, once that was checked."""
        self.preset: Preset | None = None
        """How much of its result is shown, where the operator limits that."""
        self.respondent = call.respondent
        """Who answers in its course, if that is another one than for the rest of the runtime."""
        self.native = False
        """Whether code of this program answers it, in the place of a server."""
        self.store_wait: StoreWait | None = None
        """Time that it may still wait for the store, once it has waited for it."""
        self.noted = 0
        """The number of its record in the audit log, once there is one."""
        self.span: Span | None = None
        """Its place in a trace, where there is telemetry."""

    def remote(self, *, ok: bool) -> Remote:
        """What it has done at its server."""
        if not self.writes or not (self.answered or self.doubt is not None):
            return Remote.NONE
        return Remote.DONE if ok else Remote.UNKNOWN

    def failure(self, error: BasculeError) -> ToolFailure:
        """What went wrong. A reply that was read and not believed is kept beside it, whole."""
        if isinstance(error, Refused):
            self.rule = error.rule
        if isinstance(error, UnknownTool):
            # How far the call had come would tell a tool the caller may not know of from one that is not there.
            return failure_of(error, "", self.name, Lane.OPEN, {})
        if isinstance(error, OutcomeWithheld):
            # Nor is what was said on the way: whoever may not see the outcome sees nothing of it.
            self.raw = self.withholding = None
        return failure_of(error, self.server, self.tool, self.lane, self.steps, self.raw)

    def cut_short(self, end: BaseException) -> ToolFailure:
        how = aborted if isinstance(end, asyncio.CancelledError) else partial(broken, end)
        return how(self.server, self.tool, self.lane, self.steps)
