"""The error codes of this door are raised through it, and read as their pages show them."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.bridges.weakincentives import (
    McpConnection,
    McpConnectionError,
    McpConnectionPool,
    McpError,
    McpIntegrationSection,
    McpRunStopped,
    McpSchemaError,
    McpTimeoutError,
    McpToolError,
)
from bascule.config import Timeouts
from support.inside import explain
from support.runtime import a_tool, obeying
from support.shown import same_each_time
from support.weakincentives_runs import FATAL, a_session, acting, connected, run

PAGES = Path(__file__).parents[3] / "docs" / "errors"
REWRITE = "BASCULE_REWRITE_PAGES"


def not_connected(folder: Path) -> McpError:
    with pytest.raises(McpConnectionError) as caught:
        McpIntegrationSection(servers=[obeying(folder / "log")], session=a_session()).tools()
    return caught.value


def refused(folder: Path) -> McpError:
    with connected(acting(folder)) as section, pytest.raises(McpToolError) as caught:
        work(section).call("act", {"error": {"code": -32000, "message": "not today"}})
    return caught.value


def late(folder: Path) -> McpError:
    server = acting(folder, timeouts=Timeouts(call=0.3, close=1))
    with connected(server) as section, pytest.raises(McpTimeoutError) as caught:
        work(section).call("act", {"silent": True})
    return caught.value


def two_of_one_name(folder: Path) -> McpError:
    server = obeying(folder / "log", a_tool("Say"), a_tool("say"))
    with pytest.raises(McpSchemaError) as caught:
        McpIntegrationSection(servers=[server], session=a_session()).connect()
    return caught.value


def stopped(folder: Path) -> McpError:
    server = acting(folder, trust=frozenset({"fatal"}))
    with connected(server) as section, pytest.raises(McpRunStopped) as caught:
        run(folder, section, ("work_act", {"result": FATAL}))
    return caught.value


def work(section: McpIntegrationSection) -> McpConnection:
    with section.resources().open() as resources:
        return resources.get(McpConnectionPool).get("work")


RAISES: dict[str, Callable[[Path], McpError]] = {
    "BSC-711": not_connected,
    "BSC-712": refused,
    "BSC-713": late,
    "BSC-714": two_of_one_name,
    "BSC-715": stopped,
}


@pytest.mark.requirement("UX-3")
@pytest.mark.parametrize("code", RAISES)
def test_a_code_is_raised_and_reads_as_its_page_shows(code: str, tmp_path: Path):
    text = same_each_time(explain(RAISES[code](tmp_path)), tmp_path)
    page = PAGES / f"{code}.md"
    looks = f"\n## How it looks\n\n```text\n{text}\n```\n"
    if os.environ.get(REWRITE):
        told = re.sub(r"\n## How it looks\n.*?\n```\n", "", page.read_text("utf-8"), flags=re.DOTALL)
        page.write_text(told.replace("\n## Why it happens", f"{looks}\n## Why it happens"), "utf-8")

    assert re.match(rf"{code}  \S.{{8,}}", text)
    assert re.search(r"^  fix: +\S+ \S+ \S+", text, re.MULTILINE)
    assert looks in page.read_text("utf-8")
