"""Reaction of an agent's run to a failed call (retry, move on, stop): the same in every framework."""

from collections.abc import Mapping
from enum import StrEnum

from bascule.core.errors import BasculeError
from bascule.core.outcome import FailureKind, ToolFailure


class RunStopped(BasculeError):
    """A tool failed in a way that ends the run it was called in. Bridges raise it; a session's `call` never does."""

    code = "BSC-700"

    def __init__(
        self, message: str, *, failure: ToolFailure, where: str = "", evidence: str = "", fix: str = ""
    ) -> None:
        super().__init__(message, where=where, evidence=evidence, fix=fix)
        self.failure = failure


class Reaction(StrEnum):
    """What a failure means for the run in which a tool was called."""

    RETRY = "retry"
    """The model is shown it, and may correct itself: another call can go well."""
    MOVE_ON = "move_on"
    """The model is shown it. Calling again as before will not help."""
    STOP = "stop"
    """The run ends. No model is asked."""


REACTIONS: Mapping[FailureKind, Reaction] = {
    FailureKind.CONNECTION_ERROR: Reaction.MOVE_ON,
    FailureKind.TIMEOUT: Reaction.MOVE_ON,
    FailureKind.ABORTED: Reaction.STOP,
    FailureKind.DENIED: Reaction.MOVE_ON,
    FailureKind.INVALID_ARGUMENTS: Reaction.RETRY,
    FailureKind.UNKNOWN_TOOL: Reaction.RETRY,
    FailureKind.TOOL_ERROR: Reaction.MOVE_ON,
    FailureKind.FATAL: Reaction.STOP,
    FailureKind.PROTOCOL_ERROR: Reaction.MOVE_ON,
    FailureKind.UNAVAILABLE: Reaction.MOVE_ON,
}
"""By kind, where the tool itself says nothing of trying again. Frameworks bound how often a model may retry and end the
run after that, so an error of which nobody says that it can pass is no retry."""


def reaction(failure: ToolFailure) -> Reaction:
    """A tool that says of its own error that it can pass is believed: a wrong word costs one more call."""
    if failure.kind is FailureKind.TOOL_ERROR and failure.retriable:
        return Reaction.RETRY
    return REACTIONS[failure.kind]


def told(failure: ToolFailure) -> str:
    """The words a model is shown."""
    return f"{failure.message}\n{failure.fix}" if failure.fix else failure.message


def stopped(failure: ToolFailure) -> RunStopped:
    """What ends a run, in frameworks in which an exception does."""
    error = RunStopped(failure.message, failure=failure, where=failure.tool, evidence=failure.evidence, fix=failure.fix)
    if failure.kind is FailureKind.FATAL and not failure.fix:
        error.cause = "the tool says that no further call can help, and its server is trusted with that"
        error.fix = f"mend what it names; without `fatal` in the `trust` of {failure.server} it would end no run"
    return error
