"""Agent session as programs use it: public interface to one principal's tools, resources, prompts and sensitivity
level."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec

from bascule.catalog.entry import Entry
from bascule.catalog.pinning.lock import Lock
from bascule.catalog.resources import Library
from bascule.catalog.search.index import USUAL_LIMIT
from bascule.catalog.toolbox import Toolbox
from bascule.catalog.typed.dump import Instance, own_arguments
from bascule.catalog.typed.tool import TypedTool, typed_tool
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.call import Inquiry, ToolCall
from bascule.core.client_features import Respondent
from bascule.core.errors import BasculeError
from bascule.core.json_types import JsonObject
from bascule.core.log_listener import EAR, Ear
from bascule.core.outcome import CompletionResult, Outcome, PromptResult, ResourceResult, TaskResult, ToolFailure
from bascule.core.principal import Principal
from bascule.core.prompt import PromptSpec
from bascule.core.receipt import Cause, Receipt
from bascule.core.request import OnProgress
from bascule.core.resource import ResourceSpec
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.core.undo.transaction import Participant
from bascule.identity.oauth.redirect import OnLogin
from bascule.runtime.delivery import declined_of, deliverable, without_declined
from bascule.runtime.execution.executor import Executor
from bascule.runtime.levels.raising import Raising
from bascule.runtime.requests.tasks import TaskRef, following
from bascule.runtime.requests.tool_call import TOOL_CALL
from bascule.runtime.resource_subscriptions import Subscriptions
from bascule.runtime.resources import Shelf
from bascule.runtime.result_limits import without_promise
from bascule.runtime.servers.notifications import Listener
from bascule.runtime.servers.status import LoginReport, ServerReport, raise_for_required
from bascule.runtime.session_context import Standing
from bascule.runtime.session_state import SessionState
from bascule.runtime.tool_search import PAIR, Searching, found
from bascule.sandbox.factory import Boxing
from bascule.sensitivity.private_data import check_dataset
from bascule.wire.input_required import Question
from bascule.wire.task import UPDATE
from bascule.workspace.workspace import Workspace


class AgentSession:
    """One agent session: a principal, how private it has become, and the tools it can call."""

    def __init__(
        self, standing: Standing, executor: Executor, raising: Raising, search_above: int | None = None
    ) -> None:
        self._standing = standing
        self._roster = standing.roster
        self._executor = executor
        self._raising = raising
        self._state = SessionState()
        self._subscriptions: Subscriptions | None = None
        searched = search_above is not None
        self._searching = Searching(standing, executor, self.tools, search_above) if searched else None

    @cached_property
    def _shelf(self) -> Shelf:
        """Made on first use: it takes 7 KB, and most agent sessions call tools only."""
        return Shelf(self._standing, self._executor)

    @property
    def principal(self) -> Principal:
        return self._standing.principal

    @property
    def sensitivity(self) -> DataSensitivity:
        """How private it has become. SECRET until that is known: see `begin`."""
        return self._standing.ratchet.level

    @property
    def lane(self) -> Lane:
        return self._standing.ratchet.lane

    @property
    def ended(self) -> bool:
        """Whether an operator has ended it. Nothing is done on its behalf any more."""
        return self._standing.ratchet.ended

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What has changed its level, and what was done about each change."""
        return self._raising.receipts(self.principal)

    @property
    def datasets(self) -> Mapping[str, DataSensitivity]:
        """The private datasets it has seen, each at the highest level it was given."""
        return self._raising.datasets(self.principal)

    async def begin(self) -> None:
        """Find out how private it is, from what is kept of it; a new one is kept from here on. Every request does this
        first. Raises `StoreError` where nothing can be found out; then it stays SECRET."""
        await self._raising.begin(self.principal)

    async def add_private_dataset(self, name: str, sensitivity: DataSensitivity) -> None:
        """Say that it has seen a private dataset, and raise it to that level. When this returns, the level is on disk,
        and nothing more is written where that data must not go. A dataset is never lowered."""
        check_dataset(name)
        await self.begin()
        await self._raising.raise_to(self.principal, sensitivity, Cause("dataset", dataset=name))

    @property
    def state(self) -> SessionState:
        """What a program wants to keep with this agent session for as long as the runtime lives. What a call changes in
        it is undone if the call fails."""
        return self._state

    @property
    def workspace(self) -> Workspace:
        """Its files, which an agent sees under `/workspace`. What a call changes there is undone if the call fails.
        Raises `WorkspaceError` where they cannot be opened."""
        assert self._standing.workspace is not None
        return self._standing.workspace()

    def take_part(self, participant: Participant) -> None:
        """Have it begin with each call of this agent session from now on, just before that is sent, and be told to keep
        or to undo what came of it."""
        self._standing.participants = (*self._standing.participants, participant)

    @property
    def version(self) -> int:
        """Moves whenever the tools it can see may have changed."""
        return self._roster.listings.version

    @property
    def toolbox(self) -> Toolbox:
        """Everything listed so far, of every status."""
        return self._standing.toolbox

    def boxed(self, server: str) -> bool:
        """Whether a server's own command, in a tighter box, stands in for it once private data is on board."""
        config = self._roster.servers.get(server)
        return config is not None and self._roster.boxed(config)

    async def prove_sealed(self, server: str) -> None:
        """Start a server in a sealed box, on nobody's behalf, and compare what it lists with what it lists elsewhere.
        Raises why it cannot stand in for itself there."""
        await self._roster.tightening.prove_sealed(server)

    @property
    def boxing(self) -> Boxing:
        """What makes boxes here."""
        return self._roster.boxing

    @property
    def lock(self) -> Lock:
        """What was approved of the servers' tools."""
        return self._roster.listings.locking.lock

    async def look_at_lock(self) -> None:
        """Have what is in the lock's file now hold from now on."""
        await self._roster.listings.follow_lock()

    def entries(self, server: str) -> Mapping[str, Entry]:
        """What one server has listed so far, of every status, by its own names."""
        return self._roster.listings.entries(self.principal, server)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that can be called, of all servers that can be reached. A `required` one that cannot raises. They
        follow what their servers change."""
        with self._roster.news.looking(self.principal):
            await self.connect()
            await self._roster.refresh(self.principal)
        return without_promise(self._standing, self.toolbox.specs())

    async def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that an agent is given: all, or, where these are more than `catalog.search_above`, one that finds
        tools and one that calls them. Doors to agents show these."""
        tools = await self.tools()
        return tools if self._searching is None else self._searching.offered(tools)

    async def search(self, words: str, limit: int = USUAL_LIMIT) -> tuple[ToolSpec, ...]:
        """The tools that fit some words, best first, of those that can be called."""
        await self.tools()
        return without_promise(self._standing, (await found(self.toolbox, words, limit)).tools)

    async def connect(self) -> tuple[ServerReport, ...]:
        """Link to every server not tried yet. One bad server neither delays nor removes another's tools."""
        raise_for_required([report async for report in self.connecting()])
        return self.servers()

    async def connecting(self, *, keep: bool = False) -> AsyncGenerator[ServerReport]:
        """The same, told server by server, each as soon as it is known how it stands. With `keep`, those that fail are
        tried again by themselves, as if they had died."""
        await self.begin()
        roster, principal = self._roster, self.principal
        names = roster.unsettled(principal)
        if keep:
            for name in names:
                roster.links.keep(roster.key(principal, name, roster.lane(principal, name)))
        settling = [asyncio.create_task(roster.settle(principal, name, ahead=True)) for name in names]
        try:
            for report in asyncio.as_completed(settling):
                yield await report
        finally:
            for task in settling:
                task.cancel()

    async def settle(self, server: str, *, again: bool = False) -> ServerReport:
        """How one server stands, linking to it if that was not tried yet; with `again`, whatever came of it before."""
        await self.begin()
        if again or server in self._roster.unsettled(self.principal):
            return await self._roster.settle(self.principal, server)
        return self._roster.report(self.principal, server)

    def servers(self) -> tuple[ServerReport, ...]:
        return tuple(self._roster.report(self.principal, name) for name in self._roster.servers)

    def config(self, server: str) -> ServerConfig:
        """What the operator says of a server. Raises where it is not configured."""
        return self._standing.config(server)

    async def find(self, name: str) -> ToolSpec | None:
        """A tool that can be called by this name, if there is one."""
        await self.begin()
        try:
            entry = self._standing.known(name) or await self._standing.resolve(name)
        except BasculeError:
            return None
        return without_promise(self._standing, (entry.spec,))[0] if entry.spec.status is ToolStatus.EXPOSED else None

    def wants_headers(self, name: str) -> bool:
        """Whether a tool wants some of its arguments as headers too, as far as that is known."""
        entry = self._standing.known(name)
        return entry is None or bool(entry.headers)

    async def typed(self, tool: str | ToolSpec) -> TypedTool:
        """The dataclasses of a tool's arguments and results, by its exposed name. Raises why it cannot be called."""
        spec = await self.find(tool) if isinstance(tool, str) else tool
        if spec is None:
            await self._standing.resolve(str(tool))
            raise self._standing.unknown(str(tool))
        return typed_tool(spec)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | Instance | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        respondent: Respondent | None = None,
    ) -> Coroutine[Any, Any, Outcome]:
        """Call a tool by its exposed name, with a mapping or an instance of the dataclass of its arguments. Every
        failure of the tool, its server or the rules is an outcome. `respondent` answers what servers ask in its course,
        in the place of whoever answers for the whole runtime."""
        call = ToolCall(name, own_arguments(arguments), timeout, on_progress, respondent)
        if self._searching is not None and name in PAIR:
            return self._searching.call(call)
        return self._executor.carry(self._standing, TOOL_CALL, call)

    async def follow(
        self, method: str, ref: TaskRef, answers: Mapping[str, Any] | None, respondent: Respondent
    ) -> TaskResult | ToolFailure:
        """Ask after a task that a call has led to, by one of the methods of its protocol."""
        given = {} if answers is None else {"inputResponses": dict(answers)}
        inquiry = Inquiry(ref.name, given, server=ref.key.server, respondent=respondent)
        outcome = await self._executor.carry(self._standing, following(method, ref), inquiry)
        declined = {} if isinstance(outcome, ToolFailure) else declined_of(outcome.task)
        if isinstance(outcome, ToolFailure) or not declined:
            return outcome
        answer = Inquiry(ref.name, {"inputResponses": declined}, server=ref.key.server, respondent=respondent)
        await self._executor.carry(self._standing, following(UPDATE, ref), answer)
        return msgspec.structs.replace(outcome, task=without_declined(self._standing, outcome.task))

    def deliverable(self, question: JsonObject) -> JsonObject:
        """A server request, as `method` and `params`, as its client may get it at this moment: in a private agent
        session without addresses that lead out. An elicitation by URL that has lost its address is declined."""
        shown, _ = deliverable(self._standing, Lane.OPEN, Question(question["method"], question["params"]))
        return {"method": shown.method, "params": shown.params}

    async def resources(self, *, refresh: bool = False) -> tuple[ResourceSpec, ...]:
        """The resources, and templates of such, of all servers that can be reached. A `required` one that cannot
        raises. They are kept for as long as their server says, or its link lasts; `refresh` asks anew."""
        with self._roster.news.looking(self.principal):
            await self.connect()
            return (await self.library(refresh=refresh)).resources

    async def prompts(self, *, refresh: bool = False) -> tuple[PromptSpec, ...]:
        """The prompts of all servers that can be reached, kept like resources."""
        with self._roster.news.looking(self.principal):
            await self.connect()
            return (await self.library(refresh=refresh)).prompts

    async def library(self, *, refresh: bool = False) -> Library:
        """Resources and prompts together, with what is wrong with some of them."""
        await self.begin()
        return await self._shelf.library(refresh=refresh)

    def read(
        self,
        uri: str,
        *,
        server: str | None = None,
        timeout: float | None = None,
        respondent: Respondent | None = None,
    ) -> Coroutine[Any, Any, ResourceResult | ToolFailure]:
        """Read a resource of the server that lists it, or whose template it fits, or of the one that is named."""
        inquiry = Inquiry(uri, {}, timeout, server=server, respondent=respondent)
        return self._executor.carry(self._standing, self._shelf.reading, inquiry)

    async def subscribe(self, uri: str, listener: Listener) -> ToolFailure | None:
        """Have a listener told when a resource changes, for as long as it listens. Governed like reading it; why it
        cannot be, if so."""
        if self._subscriptions is None:
            shelf = self._shelf
            made = Subscriptions(self._standing, self._executor, shelf.subscribing, shelf.unsubscribing)
            self._subscriptions = made
            self._roster.news.subscribe(self.principal, made)
        return await self._subscriptions.add(uri, listener)

    def unsubscribe(self, uri: str, listener: Listener) -> None:
        if self._subscriptions is not None:
            self._subscriptions.remove(uri, listener)

    def listen(self, listener: Listener) -> None:
        """Have somebody told of what changes, or is said, on the servers' side, for as long as they want it."""
        self._roster.news.listen(self.principal, listener)

    def leave(self, listener: Listener) -> None:
        self._roster.news.leave(self.principal, listener)

    async def tune(self, level: str = "") -> None:
        """Have servers remark as much as listeners have asked for by now, and as a request that is about to be made
        does."""
        await self._roster.news.tune(self.principal, level)

    def roots_changed(self, respondent: Respondent) -> None:
        """Have the servers that were told of roots know that a client has others now. It answers where they ask."""
        self._executor.answering.roots.changed(self._standing, respondent)

    @contextmanager
    def heard_by(self, ear: Ear) -> Generator[None]:
        """Have somebody hear what servers remark in the course of what is asked within."""
        token = EAR.set(ear)
        try:
            with self._roster.news.attended(self.principal, ear):
                yield
        finally:
            EAR.reset(token)

    def prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
        respondent: Respondent | None = None,
    ) -> Coroutine[Any, Any, PromptResult | ToolFailure]:
        """Fill in a prompt by its exposed name."""
        inquiry = Inquiry(name, dict(arguments or {}), timeout, respondent=respondent)
        return self._executor.carry(self._standing, self._shelf.prompting, inquiry)

    def complete(
        self,
        ref: str | PromptSpec | ResourceSpec,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> Coroutine[Any, Any, CompletionResult | ToolFailure]:
        """What `value`, the beginning of an argument of a prompt or of a blank of a template, could become. `context`
        are the arguments that are known already."""
        name = ref if isinstance(ref, str) else ref.name if isinstance(ref, PromptSpec) else ref.address
        server = None if isinstance(ref, str) else ref.server if isinstance(ref, ResourceSpec) else ref.key.server
        given = {"argument": argument, "value": value, "context": dict(context or {})}
        return self._executor.carry(self._standing, self._shelf.completing, Inquiry(name, given, server=server))

    async def login(self, server: str, on_login: OnLogin, redirect_uri: str) -> LoginReport:
        """Log this agent session's user in at a server, and link to it to prove it. Raises `LoginFailed`.

        `on_login` gets the URL at which a person logs in, and gives back the one to which the browser returned, which
        begins with `redirect_uri`. The login holds for all agent sessions of the user, and outlives the runtime.
        """
        await self.begin()
        login = await self._roster.login_of(self.principal, server).log_in(on_login, redirect_uri)
        scope = login.tokens.scope if login.tokens is not None else None
        return LoginReport(await self._roster.anew(self.principal, server), login.issuer, scope or "")

    async def logout(self, server: str) -> bool | None:
        """Forget this user's login at a server. Whether the login server revoked it too; None if there was none."""
        revoked = await self._roster.login_of(self.principal, server).log_out()
        await self._roster.links.close([self._roster.key(self.principal, server, Lane.OPEN)])
        return revoked

    async def close(self) -> None:
        """Close this agent session's links. Calling again opens new ones."""
        keys = [link.key for link in self._roster.links.links() if link.key.principal == self.principal]
        await self._roster.links.close(keys)
