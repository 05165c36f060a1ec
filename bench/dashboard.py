"""Benchmark of the dashboard: frame times in Chromium with ten thousand calls in the timeline, during scrolling and
while new calls arrive."""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright

from bascule import Runtime, native_server, tool
from bascule.cli.serve.dashboard import Address, mount
from bascule.config import RuntimeConfig
from bascule.config.model.gateway import GatewaySettings
from bascule.core.events import ToolInvoked
from bascule.core.outcome import ToolResult
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.gateway.serve import Door, gateway_of, listen, serve
from bascule.records.feed.feed import Feed
from bench.gateways import free_port
from bench.result import Goal, Report, Row

CHROMIUM = "/usr/bin/chromium"

CALLS = 10_000

SECONDS = 6.0
"""For which each is measured."""

A_SECOND = 100
"""Calls that come in."""

SMOOTH = 51.0
"""Milliseconds between two frames: three of sixty in a second, drawn without a graphics card."""

SCROLLS = """async ([seconds, far]) => {
  const gaps = [], until = performance.now() + seconds * 1000;
  let last = await new Promise(requestAnimationFrame), step = far;
  while (performance.now() < until) {
    if (step) {
      scrollBy(0, step);
      const end = document.documentElement.scrollHeight - innerHeight;
      if (scrollY >= end - 1 || scrollY <= 0) step = -step;
    }
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""


async def run(report: Report) -> None:
    if not Path(CHROMIUM).exists():
        print("there is no chromium here: nothing was measured")
        return
    async with shown() as (feed, address), async_playwright() as playwright:
        tell(feed, CALLS)
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(address.opening)
        await page.goto(f"{address.plain}/calls")
        await page.wait_for_function("document.getElementById('live').textContent === 'live'")
        rows = [
            *(await measured(page, "at rest", 0)),
            *(await measured(page, "while one scrolls", 40)),
        ]
        coming = asyncio.ensure_future(come_in(feed))
        try:
            rows += await measured(page, f"while {A_SECOND} calls a second come in", 0, goal=True)
            rows += await measured(page, "while they come in and one scrolls", 40, goal=True)
        finally:
            coming.cancel()
        nodes = await page.evaluate("document.querySelectorAll('*').length")
        rows.append(Row("elements of the page", nodes, "", Goal("at most", 6000)))
        await browser.close()
    report.add(f"the dashboard's timeline of {CALLS:,} calls in Chromium", rows)


async def measured(page: Page, what: str, step: int, *, goal: bool = False) -> list[Row]:
    gaps: list[float] = await page.evaluate(SCROLLS, [SECONDS, step])
    p95 = statistics.quantiles(gaps, n=20)[-1]
    bound = Goal("at most", SMOOTH) if goal else None
    return [
        Row(f"time between frames, p95, {what}", p95, "ms", bound),
        Row(f"the longest, {what}", max(gaps), "ms"),
    ]


@asynccontextmanager
async def shown() -> AsyncGenerator[tuple[Feed, Address]]:
    @tool("read")
    async def search(words: str) -> str:
        """Find notes."""
        return words

    feed = Feed(time.time)
    config = RuntimeConfig(servers={"notes": native_server("notes", [search])})
    door = Door(GatewaySettings(port=free_port()), None, Principal("alice", "s-1"))
    with tempfile.TemporaryDirectory() as folder, listen(door) as listening:
        os.environ["BASCULE_HOME"] = folder
        async with Runtime(config, sinks=[feed.note], for_clients=True) as runtime:
            app = gateway_of(runtime, door)
            address = mount(app, (runtime, feed), door)
            stop = asyncio.get_running_loop().create_future()
            serving = asyncio.ensure_future(serve(app, listening, stop.set_result))
            try:
                yield feed, address
            finally:
                (await stop)()
                await serving


async def come_in(feed: Feed) -> None:
    while True:
        tell(feed, A_SECOND // 20)
        await asyncio.sleep(0.05)


def tell(feed: Feed, number: int) -> None:
    """Calls as a runtime tells them."""
    steps = {"resolve": 1e-5, "validate": 2e-5, "decide": 4e-5, "lease": 1e-5, "send": 0.02}
    outcome = ToolResult(raw={"content": []}, server="notes", tool="search", lane=Lane.OPEN, steps=steps)
    for each in range(number):
        feed.note(
            ToolInvoked(
                tool="notes_search",
                server="notes",
                principal=Principal("alice", f"s-{each % 5}"),
                lane=Lane.OPEN,
                outcome=outcome,
                arguments={"words": "string[5]"},
                steps=steps,
                at=time.time(),
                seconds=sum(steps.values()),
            )
        )
