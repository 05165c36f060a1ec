"""Runtimes that somebody watches as the dashboard does."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.config import RuntimeConfig, ServerConfig, load_file
from bascule.dashboard.session_ids import session_id as session_id  # noqa: PLC0414 -- offered to the tests
from bascule.dashboard.views.interface import Deeds, Views, deeds_of, views_of
from bascule.dashboard.views.shapes import AskView as AskView  # noqa: PLC0414 -- the same
from bascule.dashboard.views.shapes import News as News  # noqa: PLC0414 -- the same
from bascule.dashboard.views.shapes import ServerDetail as ServerDetail  # noqa: PLC0414 -- the same
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime
from support.runtime import Events
from support.waiting import fail_after


@dataclass
class Watched:
    """A runtime, its feed, and what is seen and done there."""

    runtime: Runtime
    feed: Feed
    views: Views
    deeds: Deeds


@asynccontextmanager
async def watched(
    *servers: ServerConfig, events: Events | None = None, on_ask: Any = None, **config: Any
) -> AsyncGenerator[Watched]:
    made = RuntimeConfig(servers={server.name: server for server in servers}, **config)
    async with _watching(made, events, on_ask) as found:
        yield found


@asynccontextmanager
async def watched_file(path: Path, environ: dict[str, str] | None = None) -> AsyncGenerator[Watched]:
    async with _watching(load_file(path, environ or {}), None, None) as found:
        yield found


@asynccontextmanager
async def _watching(config: RuntimeConfig, events: Events | None, on_ask: Any) -> AsyncGenerator[Watched]:
    feed = Feed(time.time)
    sinks = [feed.note] if events is None else [feed.note, events.append]
    made = Runtime(config, sinks=sinks, on_ask=on_ask)
    async with fail_after(30, "the life of a runtime"), made as runtime:
        yield Watched(runtime, feed, views_of(runtime, feed), deeds_of(runtime))
