"""The dashboard in a real browser: what it shows, lives through and asks for."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, Route, expect

from bascule import native_server, tool
from bascule.config import load_file
from support.browsers import browser as browser  # noqa: PLC0414 -- a fixture
from support.dashboards import ShownOffice, a_day, many_calls, office, shown, shown_config
from support.locks import lock_in, locked_tools
from support.runtime import a_tool, good
from support.scenarios import entry, write_yaml
from support.waiting import fail_after

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]


@asynccontextmanager
async def looking(browser: Browser, found: ShownOffice, **context: Any) -> AsyncGenerator[Page]:
    """A page of the dashboard. Whatever it asks of another origin, and whatever its console complains of, fails."""
    wrong: list[str] = []
    asked: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, **context}
    opened = await browser.new_context(**asked)
    page = await opened.new_page()
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(found.origin) else wrong.append(asked.url))
    try:
        await page.goto(found.address.opening)
        assert page.url == found.address.plain
        yield page
    finally:
        await opened.close()
    assert not [each for each in wrong if "ERR_" not in each], wrong


async def path_of_session(page: Page, user: str) -> str:
    href = await page.locator("#latest th a", has_text=user).first.get_attribute("href")
    assert href is not None
    return href


async def test_a_call_appears_while_one_looks(browser: Browser):
    async with shown(*office()) as found, looking(browser, found) as page:
        await expect(page.locator("#calls .empty")).to_contain_text("No call yet")
        await expect(page.locator("#live")).to_have_text("live")
        await found.session().call("notes_search", {"words": "a"})
        await expect(page.locator("#calls a.call .name")).to_have_text("notes_search")
        await expect(page.locator("#servers")).to_contain_text("notes")


async def test_what_happens_before_it_listens_is_shown_too(browser: Browser):
    async with shown(*office()) as found, looking(browser, found) as page:
        happened = asyncio.Event()

        async def late(route: Route) -> None:
            await happened.wait()
            await route.continue_()

        await page.route("**/dashboard/events", late)
        await page.reload()
        await found.session().call("notes_search", {"words": "a"})
        happened.set()
        await expect(page.locator("#calls a.call .name")).to_have_text("notes_search")


async def test_the_ladder_moves_and_says_what_is_blocked(browser: Browser):
    async with shown(*office()) as found, looking(browser, found) as page:
        await found.session().tools()
        await found.session().call("notes_search", {"words": "a"})
        await page.goto(found.origin + await path_of_session(page, "alice"))
        await expect(page.locator(".rung.now .level")).to_have_text("public")
        await expect(page.locator("#live")).to_have_text("live")
        await found.session().call("crm_customer", {"name": "Grey"})
        await expect(page.locator(".rung.now .level")).to_have_text("confidential")
        await expect(page.locator("#blocked")).to_contain_text("web_fetch")
        await page.locator("#what-if a", has_text="secret").click()
        await expect(page.locator("#what-if table")).to_contain_text("notes_add")


async def test_a_call_that_waits_is_let_go_on(browser: Browser):
    async with shown(*office()) as found, looking(browser, found) as page:
        await expect(page.locator("#live")).to_have_text("live")
        call = asyncio.ensure_future(found.session().call("mail_send", {"to": "ann", "text": "hi"}))
        await expect(page.locator(".ask pre")).to_contain_text("ann")
        await page.get_by_role("button", name="Let it go on").click()
        async with fail_after(30, "the call that was let go on"):
            assert good(await call).text == "sent 2 to ann"
        await expect(page.locator(".ask")).to_have_count(0)


async def test_what_is_pressed_stays_under_the_hand(browser: Browser):
    async with shown(*office()) as found, looking(browser, found) as page:
        await expect(page.locator("#live")).to_have_text("live")
        first = asyncio.ensure_future(found.session().call("mail_send", {"to": "ann", "text": "hi"}))
        await page.get_by_role("button", name="Let it go on").hover()
        await page.mouse.down()
        async with page.expect_response(found.address.plain):
            other = asyncio.ensure_future(found.session("bob").call("mail_send", {"to": "eve", "text": "hi"}))
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        await page.mouse.up()
        async with fail_after(30, "the call that was let go on"):
            assert good(await first).text == "sent 2 to ann"
        await expect(page.locator(".ask pre")).to_contain_text("eve")
        other.cancel()


async def test_a_tool_that_changed_is_approved_by_its_diff(browser: Browser, tmp_path: Path):
    old, new = a_tool("act", description="Reads."), a_tool("act", description="Reads, and tells everybody.")
    lock_in(tmp_path, work=(old,))
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", json.dumps([new]), sandbox="none")})
    phone = {"width": 380, "height": 800}
    async with shown_config(load_file(path, {})) as found, looking(browser, found, viewport=phone) as page:
        await expect(page.locator("#live")).to_have_text("live")
        assert await found.session().tools() == ()
        await page.locator("#nav .badge", has_text="1").click()
        await expect(page.locator(".drift .change")).to_have_text("changed")
        await expect(page.locator(".diff .other")).to_have_text(
            '~ description: "Reads." → "Reads, and tells everybody."'
        )
        await fits_and_is_open(page)
        assert locked_tools(tmp_path) == {"act": old}
        await page.get_by_label("act", exact=True).check()
        await page.get_by_role("button", name="Approve what is ticked").click()
        await expect(page.locator("#drift .empty")).to_contain_text("Every tool is as it was approved")
        assert locked_tools(tmp_path) == {"act": new}
        assert [tool.name for tool in await found.session().tools()] == ["work_act"]
        good(await found.session().call("work_act", {"n": 1}))


async def test_it_is_found_and_moved_through_by_keys(browser: Browser):
    async with shown(*office()) as found:
        await a_day(found)
        async with looking(browser, found) as page:
            await page.keyboard.press("/")
            await page.keyboard.type("outcome:denied")
            await page.keyboard.press("Enter")
            await expect(page.locator("h1")).to_contain_text("outcome:denied")
            await expect(page.locator("a.call")).to_have_count(2)
            await page.keyboard.press("j")
            await page.keyboard.press("j")
            await expect(page.locator("a.call").nth(1)).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(page.locator("#detail #call")).to_contain_text("data_stays_in")
            await page.keyboard.press("Escape")
            await expect(page.locator("#detail #call")).to_have_count(0)
            await expect(page.locator("a.call").nth(1)).to_be_focused()
            await page.keyboard.press("ArrowUp")
            await expect(page.locator("a.call").nth(0)).to_be_focused()


async def test_it_comes_back_after_a_restart_and_says_so_while_it_is_away(browser: Browser):
    async with shown(*office()) as found:
        port = found.port
        opened = await browser.new_context()
        page = await opened.new_page()
        await page.goto(found.address.opening)
        await expect(page.locator("#live")).to_have_text("live")
    await expect(page.locator("#live")).to_contain_text("away")
    async with shown(*office(), port=port) as again:
        await expect(page.locator("#live")).to_have_text("live", timeout=15_000)
        await again.session().call("notes_add", {"text": "a"})
        await expect(page.locator("#calls a.call .name")).to_have_text("notes_add")
        await opened.close()


async def test_ten_thousand_calls_are_a_page_of_bounded_size(browser: Browser):
    async with shown(*office()) as found:
        many_calls(found.feed, 10_000)
        async with looking(browser, found) as page:
            await page.goto(f"{found.address.plain}/calls")
            await expect(page.locator("#range")).to_contain_text("10,000 of 10,000 calls")
            await expect(page.locator("#live")).to_have_text("live")
            newest = page.locator("a.call").first
            for _ in range(5):
                seen = await newest.get_attribute("href") or ""
                many_calls(found.feed, 100)
                await expect(newest).not_to_have_attribute("href", seen)
                await page.locator("#older").scroll_into_view_if_needed()
            # However many there were and come, the page has the same number of rows.
            await expect(page.locator("a.call")).to_have_count(200)
            assert await page.evaluate("document.querySelectorAll('*').length") < 6000
            await page.locator("#older").click()
            await expect(page.locator("#newest")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_fits_a_phone_and_shuts_nobody_out(browser: Browser, scheme: str):
    async with shown(*office()) as found:
        await a_day(found)
        waits = asyncio.ensure_future(found.session("bob").call("mail_send", {"to": "ann", "text": "hi"}))
        async with looking(browser, found, color_scheme=scheme, viewport={"width": 380, "height": 800}) as page:
            call = await page.locator("a.call").first.get_attribute("href")
            named = ("calls", "sessions", "tools", "catalog", "asks", "servers/notes", "search?q=a")
            await expect(page.locator(".ask")).to_be_visible()
            await fits_and_is_open(page)
            session = await path_of_session(page, "alice")
            for path in [*(f"/dashboard/{each}" for each in named), call, f"{session}?if=secret"]:
                await page.goto(f"{found.origin}{path}")
                await fits_and_is_open(page)
        waits.cancel()


OUT_OF_ITS_CARD = "[...document.querySelectorAll('.card')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.id)"
IN_PIECES = (
    "[...document.querySelectorAll('a.name')].filter(e => e.getClientRects().length > 2).map(e => e.textContent)"
)
"""Names that are broken again and again, for want of room."""


async def fits_and_is_open(page: Page) -> None:
    assert await page.evaluate("document.documentElement.scrollWidth") <= 380, page.url
    assert await page.evaluate(OUT_OF_ITS_CARD) == [], page.url
    assert await page.evaluate(IN_PIECES) == [], page.url
    found = (await Axe().run(page)).response["violations"]
    serious = [each for each in found if each["impact"] in {"serious", "critical"}]
    assert not serious, (page.url, [(each["id"], each["nodes"][0]["html"]) for each in serious])


async def test_dark_is_dark_by_the_system_and_by_the_switch(browser: Browser):
    async with shown(*office()) as found, looking(browser, found, color_scheme="dark") as page:
        colour = "getComputedStyle(document.body).backgroundColor"
        dark = await page.evaluate(colour)
        await page.locator("#theme").click()
        assert await page.evaluate(colour) != dark
        await page.reload()
        assert await page.evaluate(colour) != dark
        await page.locator("#theme").click()
        assert await page.evaluate(colour) == dark


async def test_a_call_that_has_not_ended_grows_and_then_becomes_a_row(browser: Browser):
    done = asyncio.Event()

    @tool("read")
    async def wait() -> str:
        """Wait."""
        await done.wait()
        return "over"

    async with shown(native_server("slow", [wait])) as found, looking(browser, found) as page:
        await expect(page.locator("#live")).to_have_text("live")
        call = asyncio.ensure_future(found.session().call("slow_wait", {}))
        row = page.locator("#calls .going .call")
        await expect(row.locator(".name")).to_have_text("slow_wait")
        await expect(row.locator(".outcome")).to_have_text("server at work")
        bar = row.locator("rect").last
        width = await bar.get_attribute("width") or ""
        await expect(bar).not_to_have_attribute("width", width)
        assert float(await bar.get_attribute("width") or "0") > float(width)
        await expect(page.locator("#calls a.call")).to_have_count(0)
        done.set()
        good(await call)
        await expect(page.locator("#calls a.call .name")).to_have_text("slow_wait")
        await expect(row).to_have_count(0)


async def test_without_the_token_it_is_closed_and_no_script_sees_the_cookie(browser: Browser):
    async with shown(*office()) as found:
        opened = await browser.new_context()
        page = await opened.new_page()
        await page.goto(found.address.plain)
        await expect(page.locator("h1")).to_have_text("The dashboard is closed")
        await page.goto(found.address.opening)
        await expect(page.locator("#servers")).to_contain_text("notes")
        (cookie,) = await opened.cookies()
        assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
        assert await page.evaluate("document.cookie") == ""
        await opened.close()


async def test_a_script_that_came_into_the_page_does_not_run(browser: Browser):
    async with shown(*office()) as found:
        opened = await browser.new_context()
        page = await opened.new_page()
        await page.goto(found.address.opening)
        ran = """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          return window.ran === true;
        }"""
        assert await page.evaluate(ran) is False
        await opened.close()
