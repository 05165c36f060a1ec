"""How far one request has come."""

import asyncio
from functools import partial

from bascule.core.call import Inquiry, ToolCall
from bascule.core.errors import BasculeError, OutcomeWithheld, Refused, UnknownTool
from bascule.core.events import shape_of
from bascule.core.jsonvalue import JsonObject
from bascule.core.outcome import ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.transaction import Ending, Remote, Transaction
from bascule.links.link import Link
from bascule.runtime.failures import aborted, broken, failure_of
from bascule.runtime.meter import Meter
from bascule.runtime.prepared import Prepared
from bascule.runtime.stopwatch import Steps
from bascule.runtime.withholding import Withholding


class Trail:
    """How far one request has come: what its event and its failure have to tell."""

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
        "noted",
        "prepared",
        "raw",
        "rule",
        "server",
        "shapes",
        "spec",
        "steps",
        "tool",
        "unread",
        "withholding",
        "writes",
    )

    def __init__(self, call: ToolCall | Inquiry) -> None:
        self.name = self.tool = call.name
        self.shapes = shape_of(call.arguments)
        self.server = ""
        self.lane = Lane.OPEN
        self.raw: JsonObject | None = None
        self.findings: tuple[str, ...] = ()
        self.meter: Meter | None = None
        """Where it counts as under way, from the decision on."""
        self.agreed = False
        """Whether a person was asked, and agreed."""
        self.unread: DataSensitivity | None = None
        """Set while it has been sent and nothing readable has come: the level that this alone raises to."""
        self.withholding: Withholding | None = None
        self.changes = Transaction()
        """What it has changed on our side."""
        self.doubt: Link | None = None
        """Set while it has been sent and not answered: by which link. Its server may be at it."""
        self.local = Ending.NOTHING
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
        self.noted = 0
        """The number of its record in the audit log, once there is one."""
        self.steps = Steps()
        self.mark = self.steps.marks.append
        """Takes a step's name and the instant in which it ended."""

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
