"""Operator's view of a running runtime, and actions in it: agent sessions, policy preview, pending approvals, tool
pinning."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bascule.catalog.approval import Proposal, proposals
from bascule.catalog.server_listing import ServerListing
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError, ConfigError, SandboxError, UsageError
from bascule.core.events import ToolsApproved
from bascule.core.principal import Principal
from bascule.core.receipt import LONGEST_REASON, Cause, Receipt
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.policy.facts import Facts
from bascule.policy.verdict import Verdict
from bascule.records.recorder import Recorder
from bascule.records.server_logs.file import LogLine
from bascule.records.server_logs.tail import LogTail
from bascule.runtime.approvals.ask import AskDesk, Waiting
from bascule.runtime.execution.executor import Executor
from bascule.runtime.levels.raising import Raising
from bascule.runtime.servers.lock import approve
from bascule.runtime.servers.registry import Roster
from bascule.runtime.session_context import Standing
from bascule.store.levels.interface import SessionRecord
from bascule.upstream.link import Link

_log = logging.getLogger("bascule.runtime")


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the rules say of a call of one tool at one level."""

    spec: ToolSpec
    facts: Facts
    verdict: Verdict
    raises: DataSensitivity
    """The level that the operator says a call of it raises to."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that has not ended yet."""

    principal: Principal
    name: str
    """As the caller wrote it."""
    server: str
    """Empty until it is known what is meant."""
    method: str
    lane: Lane | None
    """None until that is decided."""
    started: float
    """By the clock of `perf_counter`."""
    steps: Mapping[str, float]
    """Those that are behind it, in seconds."""
    waits: bool
    """Whether it waits for a person."""


class Oversight:
    """Of one runtime that runs. Whoever looks changes nothing by it; what is done is done by name."""

    def __init__(
        self,
        roster: Roster,
        standings: Mapping[Principal, Standing],
        raising: Raising,
        desk: AskDesk,
        recorder: Recorder,
        executor: Executor,
    ) -> None:
        self._roster = roster
        self._standings = standings
        self._raising = raising
        self.desk = desk
        self._recorder = recorder
        self._executor = executor

    # Requests

    def watch_requests(self) -> None:
        """From here on it is known which requests are under way."""
        if self._executor.under_way is None:
            self._executor.under_way = {}

    def begun(self, least: float) -> Iterator[Begun]:
        """Requests that have been under way for so many seconds, the oldest first."""
        waiting = {(each.approval.principal, each.approval.name) for each in self.desk.waiting()}
        latest = perf_counter() - least
        for trail, (standing, operation) in (self._executor.under_way or {}).items():
            if trail.steps.started > latest:
                return
            principal, name = standing.principal, trail.name
            method = "tools/call" if operation.of_tools else "" if trail.prepared is None else trail.prepared.method
            steps = dict(trail.steps.items())
            lane = trail.lane if "decide" in steps else None
            told = (principal, name, trail.server, method, lane, trail.steps.started, steps)
            yield Begun(*told, waits=(principal, name) in waiting and "ask" not in steps)

    # Servers

    @property
    def servers(self) -> Mapping[str, ServerConfig]:
        return self._roster.servers

    def links(self) -> tuple[Link, ...]:
        return tuple(self._roster.links.links())

    def listing(self, server: str) -> ServerListing | None:
        """What a server listed last, for anyone."""
        return self._roster.listings.latest(server)

    def error(self, server: str) -> BasculeError | None:
        """Why the server cannot be used, for whoever tried last and failed."""
        errors = reversed(self._roster.errors.items())
        return next((error for (_, name), error in errors if name == server), None)

    def twins(self, level: DataSensitivity) -> Mapping[str, str]:
        """By what each server's tools are served at a level. Nothing, where that is the server itself."""
        return self._roster.taken_over(level)

    def box(self, server: ServerConfig) -> str:
        """What the process of a server runs in, in a word. Empty, if that cannot be had."""
        engine = self._roster.boxing.engine_of(server)
        if isinstance(engine, SandboxError):
            return ""
        return "none" if engine is None else engine.kind

    async def log(self, server: str, count: int) -> tuple[LogLine, ...]:
        """The end of a server's log."""
        path = self._recorder.log_of(server) if server in self._roster.servers else None
        return () if path is None else tuple(await asyncio.to_thread(_tail, path, count))

    # Agent sessions

    def sessions(self) -> tuple[Standing, ...]:
        """Those that this runtime has in memory."""
        return tuple(self._standings.values())

    def session(self, principal: Principal) -> Standing | None:
        return self._standings.get(principal)

    def receipts(self, principal: Principal) -> tuple[Receipt, ...]:
        return self._raising.receipts(principal)

    def datasets(self, principal: Principal) -> Mapping[str, DataSensitivity]:
        return self._raising.datasets(principal)

    async def kept(self, principal: Principal) -> tuple[SessionRecord, tuple[Receipt, ...]]:
        """What is kept of an agent session that is no longer in memory. Raises `StoreError`."""
        return await self._raising.kept(principal)

    def foresee(self, standing: Standing, level: DataSensitivity) -> tuple[Foreseen, ...]:
        """What would become of a call of each tool if the agent session were at least at this level, by the rules that
        decide about calls. Tools that the operator hides are left out."""
        return tuple(
            _foreseen(standing, spec, level)
            for spec in standing.toolbox.all_specs()
            if spec.status is not ToolStatus.HIDDEN
        )

    async def raise_to(self, principal: Principal, level: DataSensitivity, by: str, reason: str = "") -> None:
        """Raise an agent session by hand. When this returns, the level is on disk, and fenced. Raises `UsageError`
        where there is none, or the reason is too long."""
        if self._standings.get(principal) is None:
            raise UsageError(f"there is no agent session {principal} here", fix="look at those that there are")
        if len(reason) > LONGEST_REASON:
            raise UsageError(f"a reason has at most {LONGEST_REASON} characters", fix="say it shorter")
        await self._raising.begin(principal)
        await self._raising.raise_to(principal, level, Cause(operator(by), reason=reason))

    # What waits for a person

    def answer(self, id_: str, by: str, *, agree: bool) -> Waiting:
        """Answer a call that waits. Raises `UsageError` where it does no more."""
        waiting = self.desk.answer(id_, operator(by), agree=agree)
        if waiting is None:
            raise UsageError(
                "that call does not wait any more", fix="somebody else was first, it was given up, or its time was over"
            )
        return waiting

    # What is to be approved

    def drift(self, server: str) -> tuple[Proposal, ...]:
        """What a server lists now that the lock does not approve, where the lock speaks of the server at all."""
        listing, lock = self.listing(server), self._roster.listings.locking.lock
        if listing is None or not lock.covers(server) or lock.trouble is not None:
            return ()
        return proposals(server, listing.entries, lock)

    async def approve(self, server: str, digests: Mapping[str, str], by: str) -> tuple[str, ...]:
        """Approve tools of a server, each by its own name and the digest of what was looked at; none, for one that is
        gone. They can be called when this returns. Raises `ConfigError` or `UsageError`; then nothing is approved."""
        path = self._roster.listings.locking.path
        if path is None:
            raise ConfigError(
                "there is no lock here to approve anything in", fix="name a config file, and set `catalog.lock` to auto"
            )
        agreed = _agreed(server, self.drift(server), digests)
        await asyncio.to_thread(approve, path, [server], agreed)
        tools = tuple(proposal.key.tool for proposal in agreed)
        self._recorder.record(ToolsApproved(server, tools, operator(by), time.time()))
        await self._roster.listings.follow_lock()
        return tools

    async def look_again(self) -> None:
        """See what others have approved."""
        await self._roster.listings.follow_lock()


def operator(name: str) -> str:
    """Who did it, as receipts and the audit log name them."""
    return f"operator {name}"


def _foreseen(standing: Standing, spec: ToolSpec, level: DataSensitivity) -> Foreseen:
    # A call that raises the agent session is decided as if that had been done: nothing is sent before it is.
    known = spec.key.server in standing.roster.servers
    raises = standing.ruled(spec) if known else DataSensitivity.PUBLIC
    facts = standing.facts(spec, at_least=max(level, raises))
    return Foreseen(spec, facts, standing.decide(facts), raises)


def _agreed(server: str, found: Iterable[Proposal], digests: Mapping[str, str]) -> list[Proposal]:
    """Those that were looked at. Raises where one of them is another by now: nobody has seen that one."""
    there = {proposal.key.tool: proposal for proposal in found}
    agreed = [there[tool] for tool in digests if tool in there and _digest(there[tool]) == digests[tool]]
    if not digests or len(agreed) != len(digests):
        raise UsageError(
            f"{server} lists something else by now than you were shown; nothing was approved",
            fix="look at it again, then decide again",
        )
    return agreed


def _digest(proposal: Proposal) -> str:
    return "" if proposal.after is None else proposal.after.digest


def _tail(path: Path, count: int) -> list[LogLine]:
    try:
        return LogTail(path).last(count)
    except OSError as error:
        _log.warning("the log at %s cannot be read: %s", path, error)
        return []
