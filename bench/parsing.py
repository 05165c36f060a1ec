"""Benchmark of framing and JSON parsing: messages of one and of eight megabytes, in the pieces that a pipe delivers."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec

from bascule.wire.framing import LineFramer
from bascule.wire.jsonrpc import read_message
from bench.result import Goal, Report, Row

PIECE = 64 * 1024
LIMIT = 64 * 1024 * 1024


def text_blocks(size: int) -> bytes:
    """What large results mostly are: text, a file or a page at a time, with the rows it was made from."""
    text = "".join(f'line {number}: the quick brown fox said "no"\n' for number in range(100))
    rows = [{"id": number, "name": f"row {number}", "tags": ["a", "b"]} for number in range(20)]
    block = {"type": "text", "text": text}
    count = size // (len(text) + 20 * 55)
    return _reply({"content": [block] * count, "structuredContent": {"pages": [rows] * count}})


def small_objects(size: int) -> bytes:
    """The other extreme: as many small objects as a message may hold, where the time goes into making them."""
    return _reply({"rows": [{"id": n, "name": f"row {n}", "note": "x" * 60} for n in range(size // 104)]})


def _reply(result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result}) + b"\n"


def seconds_to_read(data: bytes) -> float:
    framer = LineFramer(LIMIT)
    started = time.perf_counter()
    lines = [line for start in range(0, len(data), PIECE) for line in framer.feed(data[start : start + PIECE])]
    message = read_message(lines[0])
    taken = time.perf_counter() - started
    assert message.id == 1
    return taken


def rows(make: Callable[[int], bytes], goal: Goal | None) -> list[Row]:
    one, eight = make(1_000_000), make(8_000_000)
    small = median(seconds_to_read(one) for _ in range(9))
    large = median(seconds_to_read(eight) for _ in range(5))
    name = make.__name__.replace("_", " ")
    return [
        Row(f"{name}, {len(one) / 1e6:.1f} MB", small * 1000, "ms"),
        Row(f"{name}, {len(eight) / 1e6:.1f} MB", large * 1000, "ms"),
        Row(f"{name}, 8 MB / 1 MB", large / small, "×", goal),
    ]


async def run(report: Report) -> None:
    report.add("reading a large message", [*rows(text_blocks, Goal("at most", 10)), *rows(small_objects, None)])
