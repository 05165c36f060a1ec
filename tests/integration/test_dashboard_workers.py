"""The dashboard of a gateway with several workers, in a real browser: whichever answers, all of them are on it."""

import asyncio
import re
from itertools import count
from pathlib import Path

import aiohttp
import psutil
import pytest
from playwright.async_api import Browser, expect

from support.browsers import browser as browser  # noqa: PLC0414 -- a fixture
from support.scenarios import entry
from support.waiting import fail_after, until
from support.workers import Fleet, call, ending, fleet

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

LOOKS = 6
"""Browsers that look one after the other. Each has connections of its own, so that both workers are asked."""


def servers(folder: Path) -> dict[str, object]:
    """Both keep something of each agent session, so that one worker serves it."""
    return {
        "work": entry("obeying", folder / "log", sandbox="none"),
        "mail": entry("obeying", folder / "mail", sandbox="none", ask=["act"]),
    }


def serving(gateway: Fleet) -> list[psutil.Process]:
    """Workers that have started a server."""
    return [worker for worker in gateway.workers() if any(map(_is_server, worker.children(recursive=True)))]


def _is_server(process: psutil.Process) -> bool:
    try:
        return any("obeying" in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


async def a_call(gateway: Fleet, tool: str, user: str) -> str:
    async with aiohttp.ClientSession() as http:
        return ending(*await call(http, gateway.url, tool, user=user))


async def called_at_both(gateway: Fleet) -> list[str]:
    """Users who have called once each, until both workers serve some."""
    users: list[str] = []
    for number in count():
        users.append(f"user-{number}")
        assert await a_call(gateway, "work_act", users[-1]) == "ok"
        if len(serving(gateway)) == 2:
            return users
    raise AssertionError


async def test_whichever_worker_answers_all_calls_and_asks_are_there_and_are_answered(browser: Browser, tmp_path: Path):
    async with fail_after(150), fleet(tmp_path, servers(tmp_path)) as gateway:
        users = await called_at_both(gateway)
        for _ in range(LOOKS):
            opened = await browser.new_context()
            page = await opened.new_page()
            await page.goto(gateway.dashboard)
            await expect(page.locator("#figures b").first).to_have_text(str(len(users)))
            await expect(page.locator("#calls a.call")).to_have_count(min(len(users), 12))
            await expect(page.locator("#shows")).to_be_empty()
            await page.locator("#calls a.call").last.click()
            await expect(page.locator("#detail #call h1")).to_have_text("work_act")
            await opened.close()

        page = await (await browser.new_context()).new_page()
        await page.goto(gateway.dashboard)
        await expect(page.locator("#live")).to_have_text("live")
        waiting = [asyncio.ensure_future(a_call(gateway, "mail_act", user)) for user in users]
        await expect(page.locator("#figures .now b")).to_have_text(str(len(users)))
        for left in range(len(users), 0, -1):
            await expect(page.locator("#figures a").nth(4).locator("b")).to_have_text(str(left))
            await page.get_by_role("button", name="Let it go on").first.click()
            await page.wait_for_url("**/asks")
            await page.goto(gateway.dashboard.partition("?")[0])
        assert {await each for each in waiting} == {"ok"}
        await expect(page.locator("#figures b").first).to_have_text(str(2 * len(users)))
        await page.context.close()


async def test_a_worker_that_is_killed_is_told_of_and_not_waited_for(browser: Browser, tmp_path: Path):
    async with fail_after(150), fleet(tmp_path, servers(tmp_path)) as gateway:
        await called_at_both(gateway)
        page = await (await browser.new_context()).new_page()
        await page.goto(gateway.dashboard)
        await expect(page.locator("#live")).to_have_text("live")
        victim = gateway.workers()[0]
        victim.kill()
        told = re.compile("does not answer|Ended a moment ago")
        await expect(page.locator("#shows")).to_contain_text(told, timeout=20_000)
        await until(lambda: len(gateway.workers()) == 2, 60)
        assert await a_call(gateway, "work_act", "somebody-new") == "ok"
        await expect(page.locator("#calls a.call .who", has_text="somebody-new")).to_be_visible(timeout=20_000)
        await expect(page.locator("#live")).to_have_text("live")
        await page.context.close()
