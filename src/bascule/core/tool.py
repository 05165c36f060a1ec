"""Tool as agents see it and by its name at the server, and the subject of any other request, as policy rules see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from bascule.core.finding import Finding
from bascule.core.permission import UNDECLARED, Permission


class ToolKey(msgspec.Struct, frozen=True, order=True):
    """A tool by its server and the server's own name for it."""

    server: str
    tool: str

    def __str__(self) -> str:
        return f"{self.server}/{self.tool}"


class ToolStatus(StrEnum):
    """Whether agents can see a tool, and if not, why."""

    EXPOSED = "exposed"
    HIDDEN = "hidden"
    QUARANTINED = "quarantined"
    COLLIDING = "colliding"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: its exposed name, where it lives, and its definition as the server gave it, put right where it was
    sloppy."""

    name: str
    key: ToolKey
    digest: str
    description: str = ""
    title: str | None = None
    input_schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    permissions: frozenset[Permission] = UNDECLARED
    status: ToolStatus = ToolStatus.EXPOSED
    problem: str = ""
    """Why the status is not EXPOSED, and what to do about it."""
    notes: tuple[str, ...] = ()
    """What was put right in its definition."""
    findings: tuple[Finding, ...] = ()
    """What its texts hide, or say to the model."""
    flat_schema: Mapping[str, Any] | None = None
    """The input schema with all its references as pointers into itself, if it has others."""

    @property
    def plain_schema(self) -> Mapping[str, Any]:
        """The input schema for whoever reads no references but pointers, as most frameworks and models do."""
        return self.input_schema if self.flat_schema is None else self.flat_schema


ASKING = frozenset({Permission.READ, Permission.CONNECT})
"""Permissions of a request that is no tool call: it reads, and the name of its subject travels to the server."""


class Subject(msgspec.Struct, frozen=True):
    """One thing of one server: a resource, a prompt, a listing, or a question the server asked."""

    key: ToolKey
    """The server, and its own name for the thing."""
    name: str
    """The name the caller used."""
    permissions: frozenset[Permission] = ASKING
    status: ToolStatus = ToolStatus.EXPOSED
    problem: str = ""
