"""Everything the dashboard shows: asked here, answered as the values of `shapes`."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.local_views import LocalViews
from bascule.dashboard.shapes import (
    MOST_CALLS,
    AskView,
    CallDetail,
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

    async def timeline(
        self, *, session_id: str = "", before: int | None = None, after: int = 0, most: int = MOST_CALLS
    ) -> Timeline:
        """Calls, newest first; of one agent session if one is named; those older than the call `before`, newer than
        `after`."""
        ...

    async def call(self, seq: int) -> CallDetail | None: ...

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


def views_of(runtime: Runtime, feed: Feed, shows: str = "") -> Views:
    """What there is to see of one runtime, of which the feed is a sink. `shows` is said where that is not all there is
    (`Overview.shows`)."""
    return LocalViews(runtime, feed, shows)
