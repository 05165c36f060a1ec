"""Internal context of one agent session for the executor: catalog in sight, facts for the rules, links, limits and
requests."""

import asyncio
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from time import perf_counter, time
from typing import Protocol
from weakref import ref

from bascule.catalog.entry import Entry
from bascule.catalog.toolbox import Toolbox
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import (
    BasculeError,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    LoginNeeded,
    PoolTimeout,
    Refused,
    SandboxError,
    StartFailed,
    UnknownTool,
)
from bascule.core.log_listener import EAR
from bascule.core.permission import Permission
from bascule.core.principal import Principal
from bascule.core.request import Permit, Request
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for
from bascule.core.text.redaction import Mask
from bascule.core.tool import Subject, ToolKey, ToolStatus
from bascule.core.trace_context import TraceContext
from bascule.core.undo.transaction import Participant
from bascule.policy.containment import Footing
from bascule.policy.exposure import Exposure
from bascule.policy.facts import Facts
from bascule.policy.fetched_addresses import AddressRule, address_rule
from bascule.policy.permissions import may_repeat, permissions_of_request
from bascule.policy.rules import RULES, decide, facts_read
from bascule.policy.verdict import Allow, Verdict
from bascule.runtime.prepared_call import Prepared, arguments_of
from bascule.runtime.rate_meter import Meter
from bascule.runtime.sensitivity_rules import ruled_level, unread_level
from bascule.runtime.servers.lane_links import footing, lane_of
from bascule.runtime.servers.registry import Roster
from bascule.runtime.servers.status import REMOVED
from bascule.upstream.key import LinkKey
from bascule.workspace.workspaces import Workspaces

EVERYTHING = Exposure.of(None)
"""For what the operator's `tools` setting does not speak of."""

NOTHING = Exposure.of(())
"""For a server that was removed while a request of its waited."""

KEYED_FACTS = frozenset(
    {
        *("key", "name", "status", "permissions", "problem"),  # of the tool
        "principal",  # one for each `Standing`
        *("exposure", "footing", "asks"),  # from the config: an edit moves the version of the catalog
        *("level", "lane", "because", "ended"),  # of the agent session: its level and its epoch
    }
)
"""Facts that stay the same as long as the key of a remembered verdict does: the tool, the version of the catalog, and
epoch and level of the agent session. Rules that read any other fact are evaluated at each call. A fact that is missing
here costs time; one that does not belong here lets calls pass without their rule."""


class Governed(Protocol):
    """What the rules look at: a tool, or whatever else a request is about."""

    @property
    def key(self) -> ToolKey: ...
    @property
    def name(self) -> str: ...
    @property
    def status(self) -> ToolStatus: ...
    @property
    def permissions(self) -> frozenset[Permission]: ...
    @property
    def problem(self) -> str: ...


class Standing:
    """One principal before the configured servers. The executor asks it everything that differs between principals."""

    def __init__(
        self,
        principal: Principal,
        roster: Roster,
        clock: Callable[[], float] = perf_counter,
        workspaces: Workspaces | None = None,
    ) -> None:
        self.principal = principal
        self.workspace = partial(workspaces.of, principal) if workspaces is not None else None
        """Gives its files. They are opened when somebody asks for them."""
        self.roster = roster
        self.ratchet = roster.ratchets.of(principal)
        self.participants: tuple[Participant, ...] = ()
        """Who takes part in each of its calls from the beginning."""
        self._clock = clock
        self._meters: dict[str, Meter] = {}
        self._keys: dict[str, tuple[int, LinkKey]] = {}
        self._keys_version = -1
        # Not held: an agent session that nobody uses any more would keep what was listed in its time.
        self._toolbox: ref[Toolbox] | None = None
        self._toolbox_version = -1
        self._routes: dict[str, Entry] = {}
        self._routes_version = -1
        self._rules = RULES
        self._reads_arguments = any("arguments" in facts_read(rule) for rule in RULES)
        self.each_call = tuple(rule for rule in RULES if not facts_read(rule) <= KEYED_FACTS)
        """Rules that a remembered verdict does not cover."""
        self._allowed: dict[str, tuple[Governed, int, DataSensitivity, Lane]] = {}

    @property
    def toolbox(self) -> Toolbox:
        """Everything listed so far, of every status."""
        listings = self.roster.listings
        found = self._toolbox() if self._toolbox is not None else None
        # Every call asks for it, and to find it all servers are gone through.
        if found is None or self._toolbox_version != listings.version:
            found = listings.toolbox(self.principal)
            self._toolbox, self._toolbox_version = ref(found), listings.version
        return found

    def known(self, name: str) -> Entry | None:
        """A tool that was resolved before, unless the catalog has changed since."""
        if self._routes_version != self.roster.listings.version:
            self._routes.clear()
            self._allowed.clear()
            self._routes_version = self.roster.listings.version
        return self._routes.get(name)

    async def resolve(self, name: str) -> Entry:
        """Find a tool, first linking to the servers it could belong to."""
        candidates = self.candidates(name)
        roster = self.roster
        waiting = [server for server in candidates if not roster.has_listed(self.principal, server)]
        await asyncio.gather(*(roster.settle(self.principal, server) for server in waiting))
        await roster.refresh(self.principal, candidates)
        try:
            entry = self.toolbox.resolve(name)
        except UnknownTool as unknown:
            raise self._removed(name) or self.unavailable(name, candidates) or unknown from None
        self.known(name)
        if entry.spec.status is ToolStatus.EXPOSED:
            # Another one is looked up every time: somebody may approve it meanwhile.
            self._routes[name] = entry
        return entry

    def unknown(self, name: str) -> UnknownTool:
        return self.toolbox.unknown(name)

    def allowed(self, spec: Governed) -> Lane | None:
        """Remembered verdict: the lane on which the rules allowed a tool before. None, where one of `KEYED_FACTS` can
        have changed since. The rules in `each_call` have to allow the call as well: see `recheck`."""
        found = self._allowed.get(spec.name)
        if found is None or self._routes_version != self.roster.listings.version:
            return None
        known, epoch, level, lane = found
        ratchet = self.ratchet
        return lane if known is spec and epoch == ratchet.epoch and level is ratchet.level else None

    def allow(self, spec: Governed, lane: Lane) -> None:
        """Remembers a verdict."""
        self._allowed[spec.name] = (spec, self.ratchet.epoch, self.ratchet.level, lane)

    def recheck(self, spec: Governed, prepared: Prepared) -> bool:
        """Evaluates the rules that a remembered verdict does not cover. False, unless they allow this call."""
        return isinstance(decide(self.facts(spec, prepared=prepared), self.each_call), Allow)

    def decide(self, facts: Facts) -> Verdict:
        """Verdict of the rules on one request. The only way from facts to a verdict."""
        return decide(facts, self._rules)

    def admit(self, server: str) -> Meter:
        """Count a call as begun, and give where it has to leave. Raises `LimitReached`. What was allowed before says
        nothing here: limits are a matter of the moment."""
        meter = self._meters.get(server)
        if meter is None:
            meter = self._meters[server] = Meter(server, self._clock)
        meter.enter((self.roster.servers.get(server) or self.config(server)).limits)
        return meter

    @property
    def busy(self) -> bool:
        """Whether a call of its is under way."""
        return any(meter.under_way for meter in self._meters.values())

    def may_repeat(self, spec: Governed) -> bool:
        """Whether a tool may be called again although it may have done its work."""
        return may_repeat(self.config(spec.key.server).idempotent, spec.permissions, spec.key.tool)

    def ruled(self, spec: Governed) -> DataSensitivity:
        """The level that the operator says a call of this tool raises to."""
        return ruled_level(self.config(spec.key.server), spec.key.tool)

    def unread(self, spec: Governed, *, of_tools: bool = True) -> DataSensitivity | None:
        """The level that a request of this raises to if nothing readable comes of it."""
        name = spec.key.server
        server = self.roster.servers.get(name) or self.config(name)
        if not server.raises and not server.trust:
            return None
        return unread_level(server, spec.key.tool if of_tools else None)

    def facts(
        self,
        spec: Governed,
        *,
        of_tools: bool = True,
        agreed: bool = False,
        at_least: DataSensitivity = DataSensitivity.PUBLIC,
        prepared: Prepared | None = None,
    ) -> Facts:
        """Facts for the rules, as they are now, or as they will be once the agent session is raised to `at_least`. A
        server that was removed from the config can be reached on no lane."""
        server = self.roster.servers.get(spec.key.server)
        level = max(self.ratchet.level, at_least)
        return Facts(
            key=spec.key,
            name=spec.name,
            principal=self.principal,
            status=spec.status,
            exposure=self.roster.listings.exposures.get(spec.key.server, NOTHING) if of_tools else EVERYTHING,
            level=level,
            lane=lane_of(server, level) if server is not None else lane_for(level),
            now=time(),
            permissions=spec.permissions,
            problem=spec.problem,
            footing=footing(server, boxed=self.roster.boxed(server)) if server is not None else Footing.LOOSE,
            because=self.ratchet.because,
            ended=self.ratchet.ended,
            asks=of_tools and not agreed and server is not None and _is_among(spec.key.tool, server.ask),
            # Arguments may be megabytes, so they are decoded only for a rule that reads them.
            arguments=arguments_of(prepared) if prepared is not None and self._reads_arguments else None,
        )

    def subject(self, method: str, key: ToolKey, name: str) -> Subject:
        """What a request that is no tool call is about, with what the operator says such a request may do."""
        config = self.roster.servers.get(key.server)
        return (
            Subject(key, name)
            if config is None
            else Subject(key, name, permissions_of_request(method, config.permissions))
        )

    def permit_on(self, key: LinkKey, method: str) -> Permit | None:
        """Leave to say something to a server that is no request of a client's, if the rules give it on that link."""
        permit = self.ratchet.permit()
        verdict = self.decide(self.facts(self.subject(method, ToolKey(key.server, method), method), of_tools=False))
        return permit if isinstance(verdict, Allow) and verdict.lane is key.lane else None

    def address_rule(self, lane: Lane) -> AddressRule | None:
        """Rule for the addresses in an outcome of a request on this lane, if it is delivered now. None: all stay."""
        return address_rule(self.ratchet.lane, lane, self.roster.egress)

    def link_key(self, server: str, lane: Lane) -> LinkKey:
        """Key of a link, made once for each server and epoch: its first hash is slow, and every call needs one."""
        if self._keys_version != self.roster.listings.version:
            # Whether a link is shared is a matter of the config, which can be edited.
            self._keys.clear()
            self._keys_version = self.roster.listings.version
        epoch = self.ratchet.epoch
        found = self._keys.get(server)
        if found is None or found[0] != epoch:
            found = self._keys[server] = (epoch, self.roster.key(self.principal, server, lane))
        return found[1]

    def config(self, server: str) -> ServerConfig:
        """How a server is configured. Raises where it was removed."""
        config = self.roster.servers.get(server)
        if config is None:
            raise ConnectionLost(REMOVED, sent=False)
        return config

    def mask_of(self, server: str) -> Mask:
        return self.roster.masks.get(server) or Mask()

    def limit_of(self, prepared: Prepared) -> float:
        """Seconds for a whole request."""
        given = prepared.timeout
        if given is not None:
            return given
        return self.config(prepared.server).timeouts.call

    def request(
        self, prepared: Prepared, permit: Permit, meter: Meter | None = None, trace: TraceContext | None = None
    ) -> Request:
        """What is sent. One that goes round again has what is left of its time."""
        server = self.roster.servers.get(prepared.server) or self.config(prepared.server)
        rounds = prepared.rounds
        if rounds is not None:
            limit = rounds.deadline - perf_counter()
        else:
            limit = prepared.timeout if prepared.timeout is not None else server.timeouts.call
        ear = EAR.get()
        if ear is not None:
            ear.at(prepared.server)
        return Request(
            prepared.method,
            prepared.params,
            limit,
            prepared.phase,
            permit,
            prepared.on_progress,
            prepared.headers,
            tally=meter.tally if meter is not None and server.limits.bytes_per_minute is not None else None,
            ear=ear,
            trace=trace,
        )

    def _removed(self, name: str) -> UnknownTool | None:
        server = self.roster.listings.remover_of(self.principal, name)
        return self.toolbox.removed(name, server) if server is not None else None

    def candidates(self, name: str) -> list[str]:
        """Servers whose tools or prompts could have this name: an exposed name starts with its server's prefix. This is
        a hint of whom to ask first; which tool a name means is read from the table alone."""
        # Other programs write `notes.add` or `notes/add`: whoever does so is told what it is called here.
        names = (name, _SEPARATORS.sub("_", name, count=1))
        servers = self.roster.servers.values()
        return [s.name for s in servers if not s.tool_prefix or any(n.startswith(f"{s.tool_prefix}_") for n in names)]

    def unavailable(self, name: str, servers: list[str], what: str = "tool") -> BasculeError | None:
        """Why something may be missing that is not unknown: a server that could have it cannot be used."""
        for server in servers:
            error = self.roster.error_of(self.principal, server)
            if error is not None:
                # What is wrong with its entry in the config has nothing to do with what was asked for.
                if isinstance(error, Refused | ConfigError):
                    return error.with_traceback(None)
                message = f"{name} may be a {what} of server {server!r}, which cannot be used: {error.message}"
                kind = next((kind for kind in _TOLD_AS_THEY_ARE if isinstance(error, kind)), ConnectFailed)
                return kind(message, where=server, evidence=error.evidence, cause=error.cause, fix=error.fix)
        return None


_SEPARATORS = re.compile(r"[./:]")
"""What other programs put between a server and its tool."""

_TOLD_AS_THEY_ARE = (LoginNeeded, StartFailed, PoolTimeout, SandboxError)
"""Reasons that have a remedy of their own. Whoever calls is told by their code, whatever it was that they called."""


def _is_among(tool: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)
