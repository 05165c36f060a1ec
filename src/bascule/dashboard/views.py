"""Everything the dashboard shows: asked here, answered as the values of `shapes`."""

from collections.abc import AsyncGenerator
from typing import Protocol

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.shapes import (
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

MOST_CALLS = 200
"""Calls on one page, unless it asks for more."""


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
        """Endless. The first is at once, if something has changed since `last` (a `News.id`); without `last` it tells
        only where one is. At most a few a second."""
        ...
