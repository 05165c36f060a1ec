"""A real browser, one for all tests of a file."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

CHROMIUM = "/usr/bin/chromium"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncGenerator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip("no Chromium (Debian: apt-get install chromium)")
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()
