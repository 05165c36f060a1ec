"""Benchmark of a repeated listing: ten thousand unchanged tools, from their bytes to the catalog."""

import time
from statistics import median
from typing import Any

import msgspec

from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.wire.jsonrpc import read_message, take_result
from bench.result import Goal, Report, Row

COUNT = 10_000


def definition(number: int) -> dict[str, Any]:
    properties = {f"argument_{n}": {"type": "string", "description": f"What argument {n} means."} for n in range(4)}
    return {
        "name": f"tool_{number}",
        "description": f"Does the thing numbered {number}, and says how it went.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["argument_0"]},
    }


def catalogued(reply: bytes, previous: ServerListing | None) -> ServerListing:
    pages = Pages()
    pages.add(take_result(read_message(reply), phase="list"))
    listing, _ = catalog_listing("many", "many", pages, previous)
    return listing


async def run(report: Report) -> None:
    tools = [definition(number) for number in range(COUNT)]
    reply = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})
    started = time.perf_counter()
    listing = catalogued(reply, None)
    first = time.perf_counter() - started
    again: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        assert catalogued(reply, listing) is listing, "nothing changed, so nothing may be registered again"
        again.append(time.perf_counter() - started)
    report.add(
        f"a listing of {COUNT:,} tools",
        [
            Row("catalogued for the first time", first * 1000, "ms"),
            Row("again, nothing changed", median(again) * 1000, "ms", Goal("at most", 100)),
        ],
    )
