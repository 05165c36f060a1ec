import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bascule.gateway.desk import Desk
from bascule.gateway.envelope import Asked
from bascule.gateway.line_news import LineNews
from bascule.identity.seal import Seal
from bascule.runtime.session import AgentSession
from bascule.wire.stamp import LOG_LEVEL_KEY
from support.live import Living
from support.runtime import at_work
from support.waiting import until


class Told:
    def __init__(self) -> None:
        self.methods: list[str] = []

    async def tell(self, method: str, _params: Any) -> None:
        self.methods.append(method)


@asynccontextmanager
async def line(folder: Path, living: Living) -> AsyncGenerator[tuple[LineNews, Told, AgentSession]]:
    async with at_work(living.config()) as session:
        told = Told()
        news = LineNews(Desk(session, Seal(folder, time.time)), told.tell)
        try:
            await session.tools()
            yield news, told, session
        finally:
            news.end()


async def test_a_client_of_the_old_era_is_told_from_its_introduction_on_to_its_end(tmp_path: Path):
    living = Living("act")
    async with line(tmp_path, living) as (news, told, session):
        assert not session._roster.news._circles
        news.begin()
        news.begin()
        await living.become("look")
        await until(lambda: told.methods == ["notifications/tools/list_changed"])
        news.end()
        assert not session._roster.news._circles
        assert news._telling is not None
        await asyncio.wait((news._telling,))


async def test_how_much_is_heard_is_said_with_each_request_or_for_all(tmp_path: Path):
    async with line(tmp_path, Living("act")) as (news, _, _session):
        assert not news.level(Asked("tools/call", {}, 1, {}, new=True))
        assert news.level(Asked("tools/call", {}, 1, {LOG_LEVEL_KEY: "error"}, new=True)) == "error"
        assert news.level(Asked("tools/call", {}, 1)) == "info"
        news.begin()
        asked = Asked("logging/setLevel", {"level": "debug"}, 1)
        assert await news.serves(asked).serve(asked) == {}
        assert news.level(Asked("tools/call", {}, 1)) == "debug"


async def test_other_requests_are_the_desks(tmp_path: Path):
    async with line(tmp_path, Living("act")) as (news, _, _session):
        for asked in (
            Asked("tools/list", {}, 1),
            Asked("subscriptions/listen", {}, 1),
            Asked("logging/setLevel", {}, 1, new=True),
        ):
            assert news.serves(asked) is news._desk
