"""Interface between pages and runtime: `Views` reads the view models of `shapes`, `Deeds` are the actions of an
operator, which the runtime writes into the audit log by name."""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from bascule.core.errors import BasculeError
from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.session_ids import principal_of
from bascule.dashboard.views.local import LocalViews
from bascule.dashboard.views.servers import error_view
from bascule.dashboard.views.shapes import (
    MOST_CALLS,
    AskView,
    CallDetail,
    Deed,
    Drift,
    Found,
    News,
    Overview,
    ServerDetail,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
    WhatIf,
)
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime


class Deeds(Protocol):
    """What a page can do. `by` is the name of the person. Nothing raises for what people do wrong: `Deed.ok` tells."""

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        """Approve tools of a server, each by its own name and the digest that was shown (`Drift.digest`, empty for one
        that is gone). Where one of them is another by now, nothing is approved."""
        ...

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        """Let a call that waits go on, or refuse it. The first answer counts."""
        ...

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed: ...


class LocalDeeds:
    """Done in one runtime of this process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        try:
            tools = await self._runtime.oversight.approve(server, digests, by)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"approved {len(tools)} of {server}: {', '.join(tools)}")

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        try:
            waiting = self._runtime.oversight.answer(ask_id, by, agree=agree)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"{waiting.approval.name} {'goes on' if agree else 'is refused'}")

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed:
        principal = principal_of(session_id)
        if principal is None:
            return Deed(ok=False, told="there is no such agent session")
        try:
            await self._runtime.oversight.raise_to(principal, level, by, reason)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"{principal} is at least {level.name} from now on")

    def _failed(self, error: BasculeError) -> Deed:
        return Deed(ok=False, told=self._runtime.masked(error.message), error=error_view(error, self._runtime.masked))


def deeds_of(runtime: Runtime) -> Deeds:
    """What can be done in one runtime. From here on calls that wait for a person wait for whoever is asked here too."""
    runtime.oversight.desk.attended = True
    return LocalDeeds(runtime)


class Views(Protocol):
    """What a page can ask. Where something is not there (any more), the answer is None. `views_of` makes one."""

    async def overview(self) -> Overview: ...

    async def sessions(self) -> tuple[SessionRow, ...]:
        """Those heard of since the start, the last active first."""
        ...

    async def session(self, session_id: str) -> SessionDetail | None: ...

    async def what_if(self, session_id: str, level: DataSensitivity) -> WhatIf | None:
        """A level below that of the agent session is answered as its own: it only rises."""
        ...

    async def timeline(self, *, session_id: str = "", before: str = "", most: int = MOST_CALLS) -> Timeline:
        """Calls, newest first; of one agent session if one is named; those older than `before` (`CallRow.place`)."""
        ...

    async def call(self, id_: str) -> CallDetail | None: ...

    async def tools(self) -> tuple[ToolRow, ...]:
        """The most called first."""
        ...

    async def server(self, name: str) -> ServerDetail | None: ...

    async def drift(self) -> tuple[Drift, ...]:
        """Of all servers."""
        ...

    async def asks(self) -> tuple[AskView, ...]:
        """The one that has waited longest first."""
        ...

    async def search(self, query: str) -> Found:
        """Words that all have to occur, and filters such as `server:notes outcome:denied`; the fields are `server`,
        `tool`, `user`, `session`, `outcome`, `code`, `lane` and `rule`."""
        ...

    def news(self, last: str = "") -> AsyncGenerator[News]:
        """Endless. The first is at once: what has changed since `last` (a `News.id`), or only where one is, without
        `last`. Then at most a few a second; and every fifteen seconds one that tells nothing new."""
        ...


def views_of(runtime: Runtime, feed: Feed, worker: str = "") -> Views:
    """What there is to see of one runtime, of which the feed is a sink. `worker` is what people call it, where it is
    one of several."""
    return LocalViews(runtime, feed, worker)
