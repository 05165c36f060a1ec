"""The built-in server that takes its time."""

import pytest

from bascule.demo import reports
from bascule.demo.reports import JINXED, SECONDS, TOOLS, make
from bascule.kit.stdio_server import ToolError


def test_a_report_is_made_in_its_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    slept: list[float] = []
    monkeypatch.setattr(reports.time, "sleep", slept.append)

    assert make("weekly") == {"kind": "weekly", "pages": 6}
    assert slept == [SECONDS["weekly"]]
    assert capsys.readouterr().err == "printing the weekly report\n"


def test_what_there_is_no_report_of_is_told_so():
    with pytest.raises(ToolError, match="there is no 'hourly' report: it is one of daily, weekly") as told:
        make("hourly")
    assert told.value.facts == {"kinds": [*SECONDS]}


def test_one_kind_ends_the_server(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        make(JINXED)
    assert ended.value.code == 3
    assert capsys.readouterr().err.endswith("the printer is on fire\n")


def test_its_tool_only_reads():
    assert [(tool.name, tool.permissions) for tool in TOOLS] == [("make", ("read",))]
