"""Approval of a server's tools: new, changed and removed ones compared with the lock, as proposals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from bascule.catalog.entry import Entry
from bascule.catalog.pinning.definition_diff import definition_diff
from bascule.catalog.pinning.lock import Approved, Lock, LockedServers
from bascule.core.finding import Finding
from bascule.core.json_types import JsonObject
from bascule.core.tool import ToolKey, ToolStatus

Change = Literal["new", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One tool that is not as it was approved. `before` is None for a new one, `after` for one that is gone."""

    key: ToolKey
    before: Approved | None
    after: Approved | None
    findings: tuple[Finding, ...] = ()

    @property
    def change(self) -> Change:
        if self.after is None:
            return "removed"
        return "new" if self.before is None else "changed"

    def diff(self) -> tuple[str, ...]:
        return definition_diff(_definition(self.before), _definition(self.after))


def proposals(server: str, entries: Mapping[str, Entry], lock: Lock) -> tuple[Proposal, ...]:
    """In the order of the tools' names. What the operator hides is left as it stands: nobody has to look at it."""
    locked = lock.servers.get(server, {})
    found: list[Proposal] = []
    for tool in sorted(entries.keys() | locked.keys()):
        key, entry = ToolKey(server, tool), entries.get(tool)
        if entry is None:
            found.append(Proposal(key, locked[tool], None))
        elif entry.spec.status is not ToolStatus.HIDDEN and not lock.approves(key, entry.spec.digest):
            after = Approved(entry.spec.digest, entry.definition)
            found.append(Proposal(key, locked.get(tool), after, entry.spec.findings))
    return tuple(found)


def with_approved(servers: LockedServers, locking: Iterable[str], accepted: Iterable[Proposal]) -> LockedServers:
    """The lock's servers once these are approved. Those of `locking` are in it from then on, whatever they list."""
    tables = {name: dict(tools) for name, tools in servers.items()}
    for server in locking:
        tables.setdefault(server, {})
    for proposal in accepted:
        table = tables.setdefault(proposal.key.server, {})
        if proposal.after is None:
            table.pop(proposal.key.tool, None)
        else:
            table[proposal.key.tool] = proposal.after
    return tables


def overtaken(servers: LockedServers, accepted: Iterable[Proposal]) -> tuple[ToolKey, ...]:
    """Tools of which the lock says something else by now than who approved them was shown."""
    return tuple(
        proposal.key
        for proposal in accepted
        if _digest(servers.get(proposal.key.server, {}).get(proposal.key.tool))
        not in {_digest(proposal.before), _digest(proposal.after)}
    )


def _definition(approved: Approved | None) -> JsonObject | None:
    return None if approved is None else approved.definition


def _digest(approved: Approved | None) -> str:
    return "" if approved is None else approved.digest
