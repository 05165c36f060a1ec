"""Listing of a server's tools, page by page, under one deadline for all pages. A link is ready only after this."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bascule.core.errors import ConnectFailed, PeerRefused, PermitLost, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.core.request import Request
from bascule.upstream.link import Link
from bascule.wire.request_meta import METHOD_NOT_FOUND


class Collector(Protocol):
    """Takes pages, with caps of its own, and says where the next one starts."""

    @property
    def definitions(self) -> Mapping[str, Any]: ...
    @property
    def problems(self) -> tuple[str, ...]: ...
    def add(self, result: JsonObject) -> str | None: ...


async def admit_by_listing(link: Link, *, collect: Callable[[], Collector], timeout: float) -> str:
    """List the link's tools and leave them with it. What is returned is what is wrong with some of them."""
    collected = collect()
    shortcoming = await list_tools(link, collected, timeout)
    link.listed = collected
    return shortcoming


async def list_tools(link: Link, collected: Collector, timeout: float) -> str:
    """Ask for every page. What is returned is what is wrong with some of the tools; raises if none can be used."""
    await _collect(link, collected, timeout)
    problems = collected.problems
    if problems and not collected.definitions:
        raise ConnectFailed(f"none of its tools can be used: {problems[0]}", where="list")
    return f"{len(problems)} of its tools cannot be used: {problems[0]}" if problems else ""


async def _collect(link: Link, collected: Collector, timeout: float) -> None:
    now = asyncio.get_running_loop().time
    deadline = now() + timeout
    cursor: str | None = None
    while True:
        remaining = deadline - now()
        if remaining <= 0:
            raise _too_slow(timeout)
        try:
            result = await link.send(_page(cursor, remaining))
        except ReplyTimeout as error:
            raise _too_slow(timeout) from error
        except PermitLost as refused:
            await link.regain(refused)
            continue
        except PeerRefused as error:
            # A server without tools may refuse to list them.
            if error.rpc_code == METHOD_NOT_FOUND and cursor is None and not _offers_tools(link):
                return
            raise
        cursor = collected.add(result)
        if cursor is None:
            return


def _page(cursor: str | None, remaining: float) -> Request:
    params: JsonObject | None = {"cursor": cursor} if cursor is not None else None
    return Request("tools/list", params, remaining, phase="list")


def _too_slow(timeout: float) -> ReplyTimeout:
    return ReplyTimeout(
        f"listing the tools took longer than {timeout:g} s",
        phase="list",
        timeout=timeout,
        fix="if the server is only slow, raise its `timeouts.list`",
    )


def _offers_tools(link: Link) -> bool:
    return link.agreement is not None and "tools" in link.agreement.capabilities
