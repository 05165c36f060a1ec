"""Request handlers of the dashboard's pages: each reads its views, and renders a template."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.pages.templates import LEVELS, render
from bascule.dashboard.pages.waterfall import Drawn, alone, waterfall
from bascule.dashboard.views.interface import MOST_CALLS, Views
from bascule.dashboard.views.search import LONGEST_QUERY
from bascule.dashboard.views.shapes import CallRow

RECENT = 12
"""Calls on the first page."""

LATEST = 6
"""Agent sessions on the first page."""

IN_SESSION = 60
"""Calls in the waterfall of one agent session: as many as one can look at."""


class Pages:
    """All that can be looked at. `mark` proves to the entrance that a form is ours."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def overview(self, request: Request) -> Response:
        timeline = await self._views.timeline(most=RECENT)
        waiting, sessions = await self._views.asks(), await self._views.sessions()
        drawn = side_by_side(timeline.calls)
        return await self.show(
            request,
            "overview.html",
            calls=drawn,
            under_way=timeline.under_way,
            asks=waiting,
            sessions=sessions[:LATEST],
        )

    async def calls(self, request: Request) -> Response:
        before = request.query_params.get("before", "")[:LONGEST_QUERY]
        session_id = request.query_params.get("session", "")
        timeline = await self._views.timeline(session_id=session_id, before=before, most=MOST_CALLS)
        session = await self._views.session(session_id) if session_id else None
        if session_id and session is None:
            return await self.missing(request, "agent session")
        drawn = side_by_side(timeline.calls)
        return await self.show(
            request,
            "calls.html",
            calls=drawn,
            under_way=timeline.under_way,
            more=timeline.more,
            before=before,
            session=session,
            page_size=MOST_CALLS,
        )

    async def call(self, request: Request) -> Response:
        detail = await self._views.call(request.path_params["id"])
        if detail is None:
            return await self.missing(request, "call")
        bars = waterfall([detail.call])[0].bars
        return await self.show(request, "call.html", detail=detail, bars=bars)

    async def sessions(self, request: Request) -> Response:
        return await self.show(request, "sessions.html", sessions=await self._views.sessions())

    async def session(self, request: Request) -> Response:
        session_id = request.path_params["session_id"]
        detail = await self._views.session(session_id)
        if detail is None:
            return await self.missing(request, "agent session")
        timeline = await self._views.timeline(session_id=session_id, most=IN_SESSION)
        level = request.query_params.get("if", "")
        what_if = None
        if level in LEVELS:
            what_if = await self._views.what_if(session_id, DataSensitivity[level.upper()])
        # In a waterfall time goes down and to the right.
        drawn = waterfall(timeline.calls[::-1])
        return await self.show(
            request,
            "session.html",
            detail=detail,
            calls=drawn,
            under_way=timeline.under_way,
            more=timeline.more,
            what_if=what_if,
            asked=level,
        )

    async def tools(self, request: Request) -> Response:
        tools = await self._views.tools()
        longest = max((tool.p99 or 0.0 for tool in tools), default=0.0)
        return await self.show(request, "tools.html", tools=tools, longest=longest)

    async def catalog(self, request: Request) -> Response:
        return await self.show(request, "catalog.html", drift=await self._views.drift())

    async def asks(self, request: Request) -> Response:
        return await self.show(request, "asks.html", asks=await self._views.asks())

    async def server(self, request: Request) -> Response:
        detail = await self._views.server(request.path_params["name"])
        if detail is None:
            return await self.missing(request, "server")
        return await self.show(request, "server.html", detail=detail)

    async def search(self, request: Request) -> Response:
        query = request.query_params.get("q", "")[:LONGEST_QUERY].strip()
        found = await self._views.search(query) if query else None
        drawn = side_by_side(found.calls) if found is not None else ()
        return await self.show(request, "search.html", query=query, found=found, calls=drawn)

    async def missing(self, request: Request, what: str = "page") -> Response:
        return await self.show(request, "missing.html", status=404, what=what)

    async def show(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """With what every page has at its head."""
        values |= {"overview": await self._views.overview(), "mark": request.state.mark, "here": template}
        return HTMLResponse(render(template, **values), status)


def side_by_side(calls: Sequence[CallRow]) -> tuple[Drawn, ...]:
    """Each call as long as it took, all beginning at one line."""
    longest = max((call.seconds for call in calls), default=0.0)
    return tuple(Drawn(call, alone(call, longest)) for call in calls)
