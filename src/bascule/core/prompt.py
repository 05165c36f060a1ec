"""Prompt as agents see it, with its arguments, and its name at the server."""

from dataclasses import dataclass

from bascule.core.finding import Finding
from bascule.core.tool import ToolKey, ToolStatus


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One blank of a prompt. Its value is always text."""

    name: str
    description: str = ""
    title: str | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """One prompt: its exposed name, where it lives, and what it has to be given."""

    name: str
    key: ToolKey
    """The server, and its own name for the prompt."""
    digest: str
    description: str = ""
    title: str | None = None
    arguments: tuple[PromptArgument, ...] = ()
    status: ToolStatus = ToolStatus.EXPOSED
    problem: str = ""
    """Why the status is not EXPOSED, and what to do about it."""
    findings: tuple[Finding, ...] = ()
    """What its texts hide, or say to the model."""
