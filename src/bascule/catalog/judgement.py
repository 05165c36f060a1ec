"""Judgement of one tool, from the operator's config and the lock: exposure, permissions, and need for approval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from bascule.catalog.pinning.lock import Lock
from bascule.core.json_types import JsonObject
from bascule.core.permission import UNDECLARED, Permission
from bascule.core.tool import ToolKey


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """Whether a tool is shown, what it may do, and why it has to wait for approval, if it has to."""

    exposed: bool = True
    permissions: frozenset[Permission] = UNDECLARED
    unapproved: str = ""
    """Why it is kept from agents until somebody has looked at it, and what to do about it."""


Judge = Callable[[JsonObject, str], Judgement]
"""Is given a definition as it came, and its digest."""

_ACCEPTED = Judgement()


def accept(_definition: JsonObject, _digest: str) -> Judgement:
    """Shows every tool as it is, and believes none to be harmless."""
    return _ACCEPTED


class Permitting(Protocol):
    """Says what a tool may do. The catalog does not know by which rules."""

    def __call__(self, definition: JsonObject, *, approved: bool) -> frozenset[Permission]: ...


@dataclass(frozen=True, slots=True)
class ServerJudge:
    """Judges the tools of one server: by the operator's word on them, and by the lock."""

    server: str
    lock: Lock
    exposed: Callable[[str], bool]
    permitting: Permitting

    def __call__(self, definition: JsonObject, digest: str) -> Judgement:
        key = ToolKey(self.server, definition["name"])
        permissions = self.permitting(definition, approved=self.lock.approves(key, digest))
        return Judgement(self.exposed(key.tool), permissions, self.lock.why_not(key, digest, definition))


@dataclass(frozen=True, slots=True)
class TwinJudge:
    """Judges the tools of an isolated twin: a tool counts as approved where the server's own tool of that name is."""

    judge: Judge
    digests: Mapping[str, str]
    """The digests of the server's own tools, by name."""

    def __call__(self, definition: JsonObject, digest: str) -> Judgement:
        return self.judge(definition, self.digests.get(str(definition.get("name")), digest))
