"""The documentation site: it is built from every page, each link leads somewhere, and nothing is fetched from elsewhere."""

import asyncio
import functools
import os
import shutil
from collections import Counter
from collections.abc import Generator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.async_api import Error, async_playwright

from handbook import llms
from handbook.building import build
from handbook.made import MADE
from handbook.navigation import DOCS, ROOT, pages, places
from handbook.reading import problems
from handbook.staging import for_the_site, outward

pytestmark = pytest.mark.requirement("UX-5")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/bin/chromium"

LOOKED_AT = ("index", "get-started", "concepts/lanes", "reference/config", "reference/cli", "bridges", "comparison")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Built once, and only read. Zensical writes below its project alone, so what is staged lies below this one."""
    folder = tmp_path_factory.mktemp("site")
    place = ROOT / "build" / f"site-{os.getpid()}"
    try:
        wrong = build(folder / "site", place)
        assert not wrong, "\n".join(wrong)
        yield folder / "site"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_every_page_is_in_the_navigation_once():
    there = Counter(place.page for place in places())
    missing, gone, twice = pages() - set(there), set(there) - pages(), {page for page in there if there[page] > 1}

    assert not missing, (
        f"add to `nav` in zensical.toml, under the heading where a reader looks for it: {sorted(missing)}"
    )
    assert not gone, f"`nav` in zensical.toml names pages that are not in docs/: {sorted(gone)}"
    assert not twice, f"`nav` in zensical.toml has these more than once: {sorted(twice)}"


@pytest.mark.parametrize("page", MADE)
def test_the_pages_that_the_code_makes_are_as_it_makes_them(page: str):
    assert (DOCS / page).read_text(encoding="utf-8") == MADE[page](), "make it anew: python -m handbook write"


@pytest.mark.long
def test_the_site_is_built_without_a_link_to_nowhere_and_lists_itself_for_models(site: Path):
    listed, whole = (site / "llms.txt").read_text(), (site / "llms-full.txt").read_text()

    assert (site / "index.html").exists()
    assert (site / "404.html").exists()
    for place in places():
        assert (site / place.page).with_suffix(".html").exists()
        assert (site / place.page).read_text() == (DOCS / place.page).read_text()
        assert f"[{place.title}]({place.page}): " in listed
        assert (DOCS / place.page).read_text().strip() in whole


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        pass


@pytest.fixture
def served(site: Path) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.long
async def test_a_browser_asks_nobody_but_the_site_and_needs_no_scrolling_to_the_side(served: str):
    asked: list[str] = []
    said: list[str] = []
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--in-process-gpu"]
            )
        except Error:
            pytest.skip("no Chromium (Debian: apt-get install chromium)")

        async def look(width: int) -> None:
            context = await browser.new_context(
                color_scheme="dark" if width < 1000 else "light", viewport={"width": width, "height": 800}
            )
            page = await context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            for name in LOOKED_AT:
                await page.goto(f"{served}{name}.html", wait_until="networkidle")
                assert await page.evaluate("document.documentElement.scrollWidth") <= width, name
            await page.keyboard.press("Control+k")
            await page.get_by_role("combobox", name="Search").fill("twin")
            await page.get_by_role("option").first.wait_for()
            await context.close()

        # That nothing more is asked takes half a second of silence for each page.
        await asyncio.gather(*map(look, (1280, 380)))
        await browser.close()

    assert {url for url in asked if not url.startswith((served, "data:", "blob:"))} == set()
    assert said == []


def test_what_is_wrong_with_a_page_is_told(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<link href="https://cdn.example/x.css"><script src="//cdn.example/x.js"></script><img src="gone.png">'
        '<a href="b.html#there">1</a><a href="b.html#nowhere">2</a><a href="c.html">3</a><a href="https://e.example/">4</a>'
    )
    (tmp_path / "b.html").write_text('<h2 id="there">b</h2>')

    assert problems(tmp_path) == [
        "a.html: fetches https://cdn.example/x.css from elsewhere",
        "a.html: fetches //cdn.example/x.js from elsewhere",
        "a.html: leads to gone.png, which is not there",
        "a.html: leads to b.html#nowhere: the page has no such heading",
        "a.html: leads to c.html, which is not there",
    ]


def test_a_link_to_a_file_of_the_repository_leads_to_a_page_that_shows_it():
    brought: set[str] = set()
    text = '[one](../../examples/native/desk.py), [two](../kit.md#x), [three](../gone.py)\n```sh exits="2"\nls\n```\n'

    assert outward("concepts/x.md", "../kit.md") is None
    assert for_the_site("concepts/x.md", text, brought) == (
        "[one](../source/examples/native/desk.py.md), [two](../kit.md#x), [three](../gone.py)\n```sh\nls\n```\n"
    )
    assert brought == {"examples/native/desk.py"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title\n\nOne *thing*, see\n[there](x.md). Another.\n", "One *thing*, see there."),
        ("# Title\n\n```sh\nls\n```\n\nAfter it: more.\n", "After it:"),
        ("# Title\n\n<!-- made -->\n\n" + "long " * 80, ("long " * 80)[:199] + "…"),
    ],
)
def test_a_page_is_listed_by_its_first_sentence(text: str, expected: str):
    assert llms.opening(text) == expected
