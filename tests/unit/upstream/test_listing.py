"""A server's tools, asked for page by page under one deadline."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bascule.catalog.pages import Pages
from bascule.core.errors import ConnectFailed, PeerRefused
from bascule.core.json_types import JsonObject
from bascule.core.request import Request
from bascule.store.deadline import StoreWait, current_wait
from bascule.transports.dispatcher import no_leave, not_opened
from bascule.upstream.link import TRIES_FOR_LEAVE, Link
from bascule.upstream.listing import Collector, admit_by_listing
from bascule.upstream.state import LinkState
from support.links import a_link, a_plan, linked
from support.streams import Leave, Loopback
from support.waiting import fail_after

TOOL = {"name": "act", "inputSchema": {"type": "object"}}
NAMELESS = {"inputSchema": {"type": "object"}}


Page = Callable[[str | None], JsonObject]


class Lister(Loopback):
    """A server whose pages are the test's; without any it never answers. It writes down each request for one."""

    def __init__(self, pages: Page | None, capabilities: JsonObject) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._pages = pages
        self._capabilities = capabilities

    async def send(self, request: Request) -> JsonObject:
        if request.method == "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": self._capabilities}
        self.requests.append(request)
        if self._pages is None:
            return await super().send(request)
        return self._pages((request.params or {}).get("cursor"))


class Endless:
    """Takes pages without a cap of its own."""

    definitions: dict[str, Any] = {}  # noqa: RUF012 -- it keeps nothing
    problems = ()

    def __init__(self) -> None:
        self._pages = 0

    def add(self, result: JsonObject) -> str | None:
        self._pages += 1
        return f"page {self._pages}"


@asynccontextmanager
async def listing(
    pages: Page | JsonObject | None,
    *,
    offers: JsonObject | None = None,
    collect: Callable[[], Collector] = Pages,
    timeout: float = 10.0,
) -> AsyncGenerator[tuple[Link, Lister]]:
    answers: Page | None = (lambda _: pages) if isinstance(pages, dict) else pages
    server = Lister(answers, {"tools": {}} if offers is None else offers)
    admit = partial(admit_by_listing, collect=collect, timeout=timeout)
    link = a_link(a_plan(lambda: server, admit=admit))
    async with fail_after(20, "a listing"):
        link.start()
        try:
            yield link, server
        finally:
            await link.close()


async def failure(link: Link) -> ConnectFailed:
    with pytest.raises(ConnectFailed) as caught:
        await link.opened()
    assert link.listed is None
    assert link.condition.state is LinkState.FAILED
    return caught.value


def refusing(code: int, *, after: str | None = None) -> Page:
    def page(cursor: str | None) -> JsonObject:
        if cursor == after:
            raise PeerRefused("no", rpc_code=code)
        return {"tools": [TOOL], "nextCursor": after}

    return page


async def test_a_real_server_is_listed_and_its_tools_are_left_with_the_link():
    admit = partial(admit_by_listing, collect=Pages, timeout=10.0)
    async with linked("echo", admit=admit) as link:
        await link.opened()

        assert (link.condition.state, link.condition.reason) == (LinkState.READY, "")
        assert [*link.listed.definitions] == ["echo"]


async def test_all_pages_are_asked_for_each_by_the_cursor_before_it():
    def page(cursor: str | None) -> JsonObject:
        number = int(cursor or 0)
        following = {} if number == 2 else {"nextCursor": str(number + 1)}
        return {"tools": [{**TOOL, "name": f"act{number}"}], **following}

    async with listing(page) as (link, server):
        await link.opened()

        assert [*link.listed.definitions] == ["act0", "act1", "act2"]
        assert [(request.params or {}).get("cursor") for request in server.requests] == [None, "1", "2"]
        assert {(request.method, request.phase) for request in server.requests} == {("tools/list", "list")}


async def test_all_pages_share_one_deadline():
    async with listing({"tools": []}, collect=Endless, timeout=0.1) as (link, server):
        error = await failure(link)

        assert error.message == "listing the tools took longer than 0.1 s"
        assert error.where == "list"
        assert "timeouts.list" in error.fix
        limits = [request.timeout for request in server.requests]
        assert limits == sorted(limits, reverse=True)
        assert 0 < limits[-1] < limits[0] <= 0.1


async def test_a_page_that_does_not_come_ends_at_the_same_deadline():
    async with listing(None, timeout=0.05) as (link, _):
        error = await failure(link)

        assert error.message == "listing the tools took longer than 0.05 s"
        assert "timeouts.list" in error.fix


# Servers without tools


async def test_a_server_that_offers_no_tools_may_refuse_to_list_them():
    async with listing(refusing(-32601), offers={}) as (link, _):
        await link.opened()

        assert link.condition.state is LinkState.READY
        assert link.listed.definitions == {}


async def test_a_server_that_offers_tools_must_list_them():
    async with listing(refusing(-32601)) as (link, _):
        assert (await failure(link)).message == "no"


async def test_any_other_refusal_is_a_failure_whatever_is_offered():
    async with listing(refusing(-32603), offers={}) as (link, _):
        assert (await failure(link)).message == "no"


async def test_a_refusal_in_the_middle_of_a_list_is_a_failure():
    async with listing(refusing(-32601, after="1"), offers={}) as (link, _):
        assert (await failure(link)).message == "no"


async def test_a_server_may_have_an_empty_list():
    async with listing({"tools": []}) as (link, _):
        await link.opened()

        assert (link.condition.state, link.listed.definitions) == (LinkState.READY, {})


# Servers with bad tools


async def test_a_server_whose_tools_are_all_malformed_has_failed():
    async with listing({"tools": [NAMELESS, 7]}) as (link, _):
        error = await failure(link)

        assert error.message == "none of its tools can be used: tool 1: it has no name"
        assert error.where == "list"


async def test_a_server_with_some_malformed_tools_is_degraded_and_says_how_many():
    async with listing({"tools": [TOOL, NAMELESS, 7]}) as (link, _):
        await link.opened()

        assert link.usable
        assert link.condition.state is LinkState.DEGRADED
        assert link.condition.reason == "2 of its tools cannot be used: tool 2: it has no name"
        assert [*link.listed.definitions] == ["act"]


async def test_what_is_no_page_at_all_fails_the_link():
    async with listing({"items": []}) as (link, _):
        assert "has no list of tools" in (await failure(link)).message


async def test_all_tries_to_open_a_link_wait_for_the_store_until_one_deadline():
    waits: list[StoreWait] = []

    class Lapsing(Leave):
        async def regain(self) -> None:
            waits.append(current_wait())
            self.given = True

    leave = Lapsing()

    async def admit(link: Link) -> str:
        leave.given = False
        raise not_opened(no_leave())

    link = a_link(replace(a_plan(lambda: Lister(None, {}), admit=admit), leave=leave))
    async with fail_after(20):
        link.start()
        with pytest.raises(ConnectFailed, match="nothing may be written"):
            await link.opened()
        await link.close()

    assert len(waits) == TRIES_FOR_LEAVE
    assert len({id(wait) for wait in waits}) == 1


async def test_a_listing_without_leave_fails_the_link_and_says_so():
    leave = Leave()

    async def admit(link: Link) -> str:
        leave.given = False
        return await admit_by_listing(link, collect=Pages, timeout=5)

    link = a_link(replace(a_plan(lambda: Lister(None, {}), admit=admit), leave=leave))
    async with fail_after(20):
        link.start()
        with pytest.raises(ConnectFailed, match="nothing may be written") as failed:
            await link.opened()
        await link.close()
    assert not failed.value.sent
