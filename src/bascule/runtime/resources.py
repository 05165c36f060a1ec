"""Resources and prompts that servers offer to one agent session: listed on first use, cached, and found by name."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from bascule.catalog.pages import PROMPTS, RESOURCES, TEMPLATES, Listed, Pages
from bascule.catalog.resources import Library, ServerOffers, catalog_offers
from bascule.core.call import Inquiry
from bascule.core.errors import ProtocolViolation, UnknownPrompt, UnknownResource, UsageError
from bascule.core.json_types import JsonObject, as_object
from bascule.core.outcome import ToolFailure
from bascule.core.prompt import PromptSpec
from bascule.core.sensitivity import Lane
from bascule.core.tool import Subject, ToolKey
from bascule.runtime.execution.executor import Executor
from bascule.runtime.requests.prompts_and_resources import (
    Matter,
    completing,
    listing,
    prompting,
    reading,
    subscribing,
    unsubscribing,
)
from bascule.runtime.servers.listings import LARGE_LISTING
from bascule.runtime.servers.refresh import SHORTEST_PAUSE
from bascule.runtime.session_context import Standing
from bascule.upstream.link import Link
from bascule.wire.request_meta import METHOD_NOT_FOUND

CAPABILITIES = {RESOURCES: "resources", TEMPLATES: "resources", PROMPTS: "prompts"}
"""What a server must say it has before it is asked to list it."""


@dataclass(frozen=True, slots=True)
class Held:
    """One server's offers. They hold as long as the link they came on, unless the server said less."""

    offers: ServerOffers
    link: Link | None
    until: float | None
    moves: int
    """How often the server had told of changes when these were asked for."""
    since: float
    edition: int
    """That of the server's config."""


class Shelf:
    """The resources and prompts of one principal. Every request it makes goes through the executor."""

    def __init__(self, standing: Standing, executor: Executor) -> None:
        self._standing = standing
        self._executor = executor
        self._held: dict[str, Held] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._library = Library()
        self._listings = {listed: listing(listed, partial(self._find_listing, listed)) for listed in CAPABILITIES}
        self.reading = reading(self._find_resource)
        self.prompting = prompting(self._find_prompt)
        self.completing = completing(self._find_reference)
        self.subscribing = subscribing(self._find_subscribed)
        self.unsubscribing = unsubscribing(self._find_subscribed)

    async def library(self, *, refresh: bool = False) -> Library:
        """All that is offered by servers that can be reached. What is held and still good is not asked for again."""
        standing, roster = self._standing, self._standing.roster
        unsettled = roster.unsettled(standing.principal)
        await asyncio.gather(*(roster.settle(standing.principal, name) for name in unsettled))
        reachable = [name for name in roster.servers if roster.has_listed(standing.principal, name)]
        return self._merged(await asyncio.gather(*(self._offers(name, refresh=refresh) for name in reachable)))

    async def _held_library(self) -> Library:
        """The same, where what is held counts as long as its link does, and no change is told."""
        editions = self._standing.roster.listings.editions
        self._held = {name: held for name, held in self._held.items() if held.edition == editions[name]}
        if any(map(self._lacks, self._standing.roster.servers)):
            return await self.library()
        return self._merged([held.offers for held in self._held.values()])

    def _merged(self, offers: list[ServerOffers]) -> Library:
        """One library for as long as nothing changes: it may be large."""
        if [*map(id, offers)] != [*map(id, self._library.offers)]:
            self._library = Library(offers, refuse=self._standing.roster.listings.refuse)
        return self._library

    async def _offers(self, server: str, *, refresh: bool) -> ServerOffers:
        async with self._turns.setdefault(server, asyncio.Lock()):
            held = self._held.get(server)
            if held is not None and held.moves != self._moves(server):
                # Whoever was told of a change and looks must not be shown what was there before.
                await asyncio.sleep(held.since + SHORTEST_PAUSE - asyncio.get_running_loop().time())
            if held is None or refresh or not self._good(server, held):
                self._held[server] = held = await self._list(server)
            return held.offers

    def _lacks(self, server: str) -> bool:
        held = self._held.get(server)
        if held is not None:
            return self._outdated(server, held)
        return self._standing.roster.error_of(self._standing.principal, server) is None

    def _outdated(self, server: str, held: Held) -> bool:
        """Whether the server has told of a change since. One that does so all the time is not asked all the time."""
        moved = held.moves != self._moves(server)
        return moved and asyncio.get_running_loop().time() >= held.since + SHORTEST_PAUSE

    def _good(self, server: str, held: Held) -> bool:
        now = asyncio.get_running_loop().time()
        if held.edition != self._standing.roster.listings.editions[server]:
            return False
        if held.link is not None and held.link.key.lane is not self._lane(server):
            # Private data has come in. What was there is there still, and asking for it anew could only be refused.
            return True
        if self._outdated(server, held):
            return False
        return held.link is self._link(server) and (held.until is None or now < held.until)

    async def _list(self, server: str) -> Held:
        roster = self._standing.roster
        now = asyncio.get_running_loop().time
        config, edition, moves = roster.servers.get(server), roster.listings.editions[server], self._moves(server)
        if config is None:
            # It was removed while others were listed.
            return Held(ServerOffers(server), None, None, moves, now(), edition)
        deadline = now() + config.timeouts.list
        problems: list[str] = []
        pages = {listed: Pages(listed) for listed in CAPABILITIES}
        for listed, capability in CAPABILITIES.items():
            if capability in self._capabilities(server):
                problem = await self._collect(server, pages[listed], deadline)
                if problem:
                    # Half a list would pass for the whole one.
                    pages[listed] = Pages(listed)
                    problems.append(f"its {listed.words} could not be listed: {problem}")
        times = [collected.ttl for collected in pages.values() if collected.ttl is not None]
        read = partial(catalog_offers, server, config.tool_prefix, *pages.values(), problems)
        large = sum(collected.size for collected in pages.values()) > LARGE_LISTING
        offers = await asyncio.to_thread(read) if large else read()
        await roster.remember(self._lane(server), server, "resources", offers.resource_digests())
        await roster.remember(self._lane(server), server, "prompts", offers.prompt_digests())
        until = now() + min(times) if times else None
        return Held(offers, self._link(server), until, moves, now(), edition)

    async def _collect(self, server: str, pages: Pages, deadline: float) -> str:
        """Every page of one listing. What is returned is why there is none."""
        operation = self._listings[pages.listed]
        now = asyncio.get_running_loop().time
        cursor: str | None = None
        while True:
            left = deadline - now()
            if left <= 0:
                return "it took longer than `timeouts.list`"
            params: JsonObject = {"cursor": cursor} if cursor is not None else {}
            outcome = await self._executor.carry(self._standing, operation, Inquiry(server, params, left))
            if isinstance(outcome, ToolFailure):
                # Many servers that have resources have no templates, and do not know the method.
                return "" if outcome.tool_code == METHOD_NOT_FOUND and cursor is None else outcome.message
            try:
                cursor = pages.add(outcome.raw)
            except ProtocolViolation as error:
                return error.message
            if cursor is None:
                return ""

    # What a request is about.

    async def _find_listing(self, listed: Listed, _standing: Standing, inquiry: Inquiry) -> Matter:
        key = ToolKey(inquiry.name, listed.words)
        return Matter(self._subject(listed.method, key, f"the {listed.words} of {inquiry.name}"))

    async def _find_resource(self, _standing: Standing, inquiry: Inquiry) -> Matter:
        uri = inquiry.name
        server = inquiry.server
        if server is None:
            try:
                server = (await self._held_library()).server_of(uri)
            except UnknownResource:
                # It may be new.
                server = (await self.library()).server_of(uri)
        await self._require(server, "resources")
        if self._standing.roster.listings.refuse:
            (await self._held_library()).check(uri, server)
        return Matter(self._subject("resources/read", ToolKey(server, uri), uri))

    async def _find_subscribed(self, standing: Standing, inquiry: Inquiry) -> Matter:
        """What may not be read may not be followed either: the rules look at both."""
        matter = await self._find_resource(standing, inquiry)
        server = matter.spec.key.server
        if as_object(self._capabilities(server).get("resources")).get("subscribe") is not True:
            raise UsageError(f"the server {server!r} does not tell when its resources change")
        if standing.config(server).lifetime == "call":
            raise UsageError(f"there is a link to {server!r} only while it is called: it cannot tell of anything later")
        both = self._subject("resources/subscribe", matter.spec.key, matter.spec.name).permissions
        return Matter(msgspec.structs.replace(matter.spec, permissions=matter.spec.permissions | both))

    async def _find_prompt(self, _standing: Standing, inquiry: Inquiry) -> Matter:
        prompt = await self._prompt(inquiry.name)
        return Matter(self._subject("prompts/get", prompt.key, prompt.name), prompt)

    async def _find_reference(self, _standing: Standing, inquiry: Inquiry) -> Matter:
        """A prompt by its exposed name, else a template, or a resource, as it is written in the listing."""
        name = inquiry.name
        library = await self._held_library()
        template = library.template(name, inquiry.server)
        if template is not None:
            key, ref = ToolKey(template.server, name), {"type": "ref/resource", "uri": name}
        else:
            prompt = await self._prompt(name)
            key, ref = prompt.key, {"type": "ref/prompt", "name": prompt.key.tool}
        await self._require(key.server, "completions")
        return Matter(self._subject("completion/complete", key, name), ref=ref)

    def _subject(self, method: str, key: ToolKey, name: str) -> Subject:
        return self._standing.subject(method, key, name)

    async def _prompt(self, name: str) -> PromptSpec:
        try:
            return (await self._held_library()).prompt(name)
        except UnknownPrompt:
            # It may be new.
            library = await self.library()
        try:
            return library.prompt(name)
        except UnknownPrompt:
            standing = self._standing
            failed = standing.unavailable(name, standing.candidates(name), "prompt")
            if failed is None:
                raise
            raise failed from None

    async def _require(self, server: str, capability: str) -> None:
        """Raises where the server cannot be reached, or does not say that it has what is wanted of it."""
        standing, roster = self._standing, self._standing.roster
        if server not in roster.servers:
            raise UsageError(f"no server is called {server[:80]!r}", fix=f"it is one of {', '.join(roster.servers)}")
        if not roster.has_listed(standing.principal, server):
            await roster.settle(standing.principal, server)
        error = roster.error_of(standing.principal, server)
        if error is not None:
            raise error.with_traceback(None)
        if capability not in self._capabilities(server):
            raise UsageError(f"the server {server!r} offers no {capability}")

    def _capabilities(self, server: str) -> Mapping[str, Any]:
        return self._standing.roster.listings.capabilities_of(self._standing.principal, server)

    def _moves(self, server: str) -> int:
        return self._standing.roster.moves(self._standing.principal, server)

    def _link(self, server: str) -> Link | None:
        standing = self._standing
        return standing.roster.links.find(standing.link_key(server, self._lane(server)))

    def _lane(self, server: str) -> Lane:
        return self._standing.roster.lane(self._standing.principal, server)
