"""How far one request has come."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from bascule.config.presets import Preset
from bascule.core.answer import Respondent
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


class Trail(msgspec.Struct, eq=False):
    """How far one request has come: what its event and its failure have to tell."""

    name: str
    tool: str
    shapes: dict[str, str]
    steps: Steps
    mark: Callable[[tuple[str, float]], None]
    """Takes a step's name and the instant in which it ended."""
    changes: Transaction
    """What it has changed on our side."""
    server: str = ""
    lane: Lane = Lane.OPEN
    raw: JsonObject | None = None
    findings: tuple[str, ...] = ()
    meter: Meter | None = None
    """Where it counts as under way, from the decision on."""
    agreed: bool = False
    """Whether a person was asked, and agreed."""
    unread: DataSensitivity | None = None
    """Set while it has been sent and nothing readable has come: the level that this alone raises to."""
    withholding: Withholding | None = None
    doubt: Link | None = None
    """Set while it has been sent and not answered: by which link. Its server may be at it."""
    local: Ending = Ending.NOTHING
    writes: bool = False
    """Whether it is about something that may change the world at its server."""
    answered: bool = False
    """Whether its server has answered it, or a try of it."""
    rule: str = ""
    """The rule that refused it."""
    spec: object = None
    """What it is about, once that was found."""
    prepared: Prepared | None = None
    """What will travel, once that was checked."""
    preset: Preset | None = None
    """How much of its result is shown, where the operator limits that."""
    respondent: Respondent | None = None
    """Who answers in its course, if that is another one than for the rest of the runtime."""
    native: bool = False
    """Whether code of this program answers it, in the place of a server."""
    noted: int = 0
    """The number of its record in the audit log, once there is one."""

    @classmethod
    def of(cls, call: ToolCall | Inquiry, workspace: Callable[[], object] | None = None) -> "Trail":
        steps, name = Steps(), call.name
        changes = Transaction(workspace)
        shapes = shape_of(call.arguments)
        return cls(name, name, shapes, steps, steps.marks.append, changes, respondent=call.respondent)

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
