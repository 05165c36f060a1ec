"""The tour tells what happens, and that all went well."""

import asyncio
import sys

import pytest

from bascule.core.events import CatalogChanged
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.demo.tour import _show, _tell, servers, tour
from support.children import children
from support.waiting import fail_after


async def test_the_tour_shows_links_tools_calls_and_a_refusal(capsys: pytest.CaptureFixture[str]):
    before = children()
    async with fail_after(20):
        assert await tour()
    told = capsys.readouterr().out

    assert "level PUBLIC, lane open" in told
    for line in ("clock_now", "notes_add", "notes_search", "clock: ready", "notes: closed (closed)"):
        assert line in told
    assert "event  notes_add(text: string[19]) ok: resolve" in told
    assert "- The bridge is down." in told
    assert "event  notes_add(text: number) failed" in told
    assert "invalid_arguments BSC-202" in told
    assert told.endswith("nothing is left running.\n")
    assert children() == before


async def test_the_module_can_be_run():
    async with fail_after(30):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bascule.demo", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()

    assert process.returncode == 0
    assert b"nothing is left running" in out


def test_the_built_in_servers_need_nothing_but_python():
    for name, server in servers().items():
        assert server.name == name
        assert server.transport.kind == "stdio"


def test_events_that_are_not_part_of_the_tour_are_passed_over(capsys: pytest.CaptureFixture[str]):
    _tell(CatalogChanged("notes", ("add",), (), (), 1.0))

    assert capsys.readouterr().out == ""


def test_outcomes_are_shown_line_by_line(capsys: pytest.CaptureFixture[str]):
    _show(ToolResult({"content": [{"type": "text", "text": "a\nb"}]}, "s", "t", Lane.OPEN, {}))
    _show(ToolFailure(FailureKind.DENIED, "BSC-300", "no"))

    assert capsys.readouterr().out == "  > a\n  > b\n\n  > denied BSC-300: no\n\n"
