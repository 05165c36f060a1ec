"""Live updates of the dashboard as server-sent events (SSE), for as long as a browser listens."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from bascule.core.principal import Principal
from bascule.dashboard.views.interface import Views
from bascule.dashboard.views.shapes import News
from bascule.gateway.http.sse import COMMENT, KEEP_ALIVE
from bascule.gateway.mcp.listen import Streams

LOOKER = Principal("dashboard", "dashboard")
"""Who all lookers are, as far as places for streams go: they are bounded together."""

RETRY = b"retry: 1000\n\n"
"""Milliseconds after which a browser that was cut off comes back."""


async def news_stream(views: Views, streams: Streams, last: str) -> AsyncGenerator[bytes]:
    """Raises `Rejected` where there is no place for one more."""
    ended, told = asyncio.Event(), asyncio.Queue[News](maxsize=1)
    async with streams.place(LOOKER, ended.set, None):
        pump = asyncio.create_task(_pump(views, last, told))
        end = asyncio.create_task(ended.wait())
        try:
            yield RETRY
            while not ended.is_set():
                yield await _next(told, end, pump)
                if pump.done():
                    return
        finally:
            pump.cancel()
            end.cancel()
            await asyncio.gather(pump, end, return_exceptions=True)


async def going_on(begun: bytes, stream: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """A stream of which the first part was taken already, to see whether there is a place for it."""
    async with aclosing(stream):
        yield begun
        async for part in stream:
            yield part


async def _pump(views: Views, last: str, told: asyncio.Queue[News]) -> None:
    async for news in views.news(last):
        await told.put(news)


async def _next(told: asyncio.Queue[News], *others: asyncio.Task[object]) -> bytes:
    """The next event; a word where there is none for long, or something has ended."""
    getting = asyncio.create_task(told.get())
    try:
        await asyncio.wait((getting, *others), timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
        return event(getting.result()) if getting.done() else COMMENT
    finally:
        getting.cancel()


def event(news: News) -> bytes:
    """What has changed, by topic: the page asks for what it shows of it. No text of anybody's is in it."""
    body = msgspec.json.encode({"topics": news.topics, "reload": news.reload, "calls": len(news.calls)})
    return b"event: news\nid: " + news.id.encode() + b"\ndata: " + body + b"\n\n"
