"""Dashboard as an ASGI app (Starlette): routes to pages, forms, assets and the event stream, behind the login."""

import time
from collections.abc import Callable

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bascule.dashboard.auth.attempts import Tries
from bascule.dashboard.auth.cookies import Badges
from bascule.dashboard.auth.login import ROOT, STATIC, Entrance
from bascule.dashboard.auth.token import Token
from bascule.dashboard.pages.assets import assets
from bascule.dashboard.pages.events import going_on, news_stream
from bascule.dashboard.pages.forms import Acts
from bascule.dashboard.pages.routes import Pages
from bascule.dashboard.pages.templates import render
from bascule.dashboard.views.interface import Deeds, Views
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.listen import Streams
from bascule.identity.host_origin_check import HouseRules

FOR_EVER = "public, max-age=31536000, immutable"


class Shown(msgspec.Struct, frozen=True):
    """What a dashboard shows and does, and in whose name."""

    views: Views
    deeds: Deeds
    by: str
    """Who acts here, as the audit log names them: the one whose token it is."""


class Opening(msgspec.Struct, frozen=True):
    """To whom it opens."""

    token: Token
    rules: HouseRules
    secure: bool = False
    """Whether browsers reach it by https."""


def dashboard(
    shown: Shown, opening: Opening, streams: Streams | None = None, clock: Callable[[], float] = time.time
) -> Entrance:
    """The app. Close the streams when it has to end: they last for as long as somebody looks."""
    pages = Pages(shown.views)
    acts = Acts(shown.deeds, pages, shown.by)
    streams = Streams() if streams is None else streams

    async def events(request: Request) -> Response:
        last = request.headers.get("last-event-id", "")[:100]
        stream = news_stream(shown.views, streams, last)
        try:
            begun = await anext(stream)
        except Rejected as rejected:
            return PlainTextResponse(str(rejected), rejected.status)
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(going_on(begun, stream), media_type="text/event-stream", headers=headers)

    async def lost(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code != 404:
            return PlainTextResponse(error.detail, error.status_code, error.headers)
        # Who asks for a file may be anybody, and a page shows what only some may see.
        if request.url.path.startswith(STATIC):
            return PlainTextResponse("there is no such file", 404)
        return await pages.missing(request)

    def turned(words: str, status: int) -> Response:
        return HTMLResponse(render("enter.html", words=words, place=opening.token.place), status)

    app = Starlette(
        routes=[*_reading(pages), *_doing(acts), Route(f"{ROOT}/events", events)],
        exception_handlers={HTTPException: lost},
    )
    entrance = Entrance(app, Badges(opening.token.text, clock), opening.rules, Tries(clock), turned)
    entrance.secure = opening.secure
    return entrance


def _reading(pages: Pages) -> list[Route]:
    return [
        Route(ROOT, pages.overview),
        Route("/", _home),
        Route(f"{ROOT}/calls", pages.calls),
        Route(f"{ROOT}/calls/{{id}}", pages.call),
        Route(f"{ROOT}/sessions", pages.sessions),
        Route(f"{ROOT}/sessions/{{session_id}}", pages.session),
        Route(f"{ROOT}/tools", pages.tools),
        Route(f"{ROOT}/catalog", pages.catalog),
        Route(f"{ROOT}/asks", pages.asks),
        Route(f"{ROOT}/servers/{{name}}", pages.server),
        Route(f"{ROOT}/search", pages.search),
        Route(f"{STATIC}{{digest}}/{{name}}", _static),
    ]


def _doing(acts: Acts) -> list[Route]:
    return [
        Route(f"{ROOT}/catalog", acts.approve, methods=["POST"]),
        Route(f"{ROOT}/asks", acts.answer, methods=["POST"]),
        Route(f"{ROOT}/sessions/{{session_id}}", acts.raise_session, methods=["POST"]),
    ]


async def _home(_: Request) -> Response:
    return RedirectResponse(ROOT)


async def _static(request: Request) -> Response:
    asset = assets().get(request.path_params["name"])
    if asset is None or asset.digest != request.path_params["digest"]:
        return PlainTextResponse("there is no such file", 404)
    headers = {"cache-control": FOR_EVER, "etag": f'"{asset.digest}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, media_type=asset.kind, headers=headers)
