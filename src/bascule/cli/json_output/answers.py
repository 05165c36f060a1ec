"""JSON shapes of errors, and of results of calls, resources and prompts."""

from typing import Any, Literal, TypedDict

from bascule.core.finding import FindingKind, Severity
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import Lane

Level = Literal["public", "internal", "confidential", "secret"]


class ErrorShape(TypedDict):
    """Why something failed."""

    code: str
    """`BSC-…`; `bascule explain` has a page for each."""
    message: str
    evidence: str
    fix: str


class FailedShape(TypedDict):
    """What any command prints that could not do what it was asked."""

    ok: Literal[False]
    error: ErrorShape


class FindingShape(TypedDict):
    """Something in a server's texts that a person should look at."""

    kind: FindingKind
    where: str
    evidence: str
    severity: Severity


class FailureShape(TypedDict):
    """A request that did not succeed."""

    ok: Literal[False]
    kind: FailureKind
    code: str
    """`BSC-…`."""
    message: str
    tool_code: str | int | float | None
    """The server's own code for it."""
    retriable: bool | None
    """Whether the same may succeed later; null, where that is not known."""
    fix: str


class TakenShape(TypedDict):
    """On which lane a result came, and in what time."""

    lane: Lane
    ms: float
    steps: dict[str, float]
    """Milliseconds in each step of its path."""


class CallShape(TakenShape):
    """A tool's result."""

    ok: Literal[True]
    text: str
    """As a model reads it."""
    structured: Any
    """What the tool gave as data, or null."""
    server: str
    tool: str
    """The server's own name for it."""


class ReadShape(TakenShape):
    """A resource."""

    ok: Literal[True]
    text: str
    contents: list[dict[str, Any]]
    """Its parts, as the protocol has them."""
    server: str
    uri: str


class PromptShape(TakenShape):
    """A prompt, filled in."""

    ok: Literal[True]
    text: str
    description: str
    messages: list[dict[str, Any]]
    """As the protocol has them."""
    server: str
    prompt: str
    """The server's own name for it."""
