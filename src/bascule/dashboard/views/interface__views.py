"""Everything the dashboard shows: asked here, answered as the values of `shapes`."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.views.local import LocalViews
from bascule.dashboard.views.shapes import (
    MOST_CALLS,
    AskView,
    CallDetail,
    Found,
    News,
    Overview,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
    WhatIf,
)
from bascule.dashboard.views.shapes__server_shapes import Drift, ServerDetail
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime


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
