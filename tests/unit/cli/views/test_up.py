"""The three ways to show what happens."""

import io
import json
import sys
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from bascule.cli.views.up import JsonView, LineView, TableView, clock, drawn, table_of, told_shape, told_text, view_for
from bascule.cli.views.up_rows import Row
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.events import CatalogChanged, ConfigApplied, ConfigRejected

ERROR = ConnectFailed("gone", evidence="exit 3", fix="mend it")
READY = Row("work", "stdio", "ready", "", "2026-07-28", 3, 1, at=0.0)
FAILED = Row("work", "stdio", "failed", "gone", None, 0, 0, at=0.0)
APPLIED = ConfigApplied(("a",), ("b",), ("c", "d"), (), ("links.max was changed",), 7.0)
REJECTED = ConfigRejected(ConfigError("it has 1 problem", problems=("line 3: no",), fix="correct it"), 8.0)
CHANGED = CatalogChanged("work", ("x", "y"), (), ("z",), 9.0)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def shapes(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(capsys)]


def test_json_is_a_line_for_each_row_that_changed(capsys: pytest.CaptureFixture[str]):
    view = JsonView()
    view.rows([READY, Row("other", "http", "connecting", "", None, 0, 0)])
    view.rows([READY, Row("other", "http", "failed", "no \x1b[31m\u202eway", None, 0, 0)])
    view.rows([READY])
    view.rows([READY])
    view.stopping()
    view.stopped()

    told = shapes(capsys)
    assert [(shape["event"], shape.get("name"), shape.get("state")) for shape in told] == [
        ("server", "work", "ready"),
        ("server", "other", "connecting"),
        ("server", "other", "failed"),
        ("stopping", None, None),
        ("stopped", None, None),
    ]
    assert told[2]["reason"] == "no \x1b[31m\u202eway"


def test_json_hides_nothing(capsys: pytest.CaptureFixture[str]):
    JsonView().rows([Row("other", "http", "failed", "\x1b[31m\u202e", None, 0, 0)])

    assert capsys.readouterr().out.isascii()


def test_what_happens_has_its_documented_shapes(capsys: pytest.CaptureFixture[str]):
    view = JsonView()
    for event in (APPLIED, REJECTED, CHANGED):
        view.tell(event)

    assert shapes(capsys) == [
        {
            "event": "config",
            "applied": True,
            "added": ["a"],
            "removed": ["b"],
            "restarted": ["c", "d"],
            "retuned": [],
            "notes": ["links.max was changed"],
            "error": None,
            "at": 7.0,
        },
        {
            "event": "config",
            "applied": False,
            "added": [],
            "removed": [],
            "restarted": [],
            "retuned": [],
            "notes": [],
            "error": {"code": "BSC-100", "message": "it has 1 problem", "evidence": "line 3: no", "fix": "correct it"},
            "at": 8.0,
        },
        {
            "event": "catalog",
            "server": "work",
            "kind": "tools",
            "added": ["x", "y"],
            "changed": [],
            "removed": ["z"],
            "findings": [],
            "at": 9.0,
        },
    ]
    assert told_shape(APPLIED).keys() == told_shape(REJECTED).keys()


def test_a_line_says_when_and_how_a_server_stands(capsys: pytest.CaptureFixture[str]):
    view = LineView()
    view.rows([Row("work", "stdio", "configured", "", None, 0, 0)])
    view.rows([READY])
    view.rows([READY])

    assert lines(capsys) == [f"{clock(0.0)} work                ready          3 tools  2026-07-28"]


def test_why_a_start_failed_is_told_once_below_its_line(capsys: pytest.CaptureFixture[str]):
    view = LineView()
    view.rows([FAILED])
    view.rows([Row("work", "stdio", "failed", "gone", None, 0, 0, ERROR, at=0.0)])

    assert lines(capsys) == [
        f"{clock(0.0)} work                failed         0 tools  -           gone",
        "    BSC-401  gone",
        "      evidence: exit 3",
        "      fix:      mend it",
        "      more:     bascule explain BSC-401",
    ]


def test_a_servers_words_cannot_make_a_line_of_their_own(capsys: pytest.CaptureFixture[str]):
    LineView().rows([Row("work", "stdio", "failed", "a\n12:00:00 other ready\x1b[2J", None, 0, 0)])
    (line,) = lines(capsys)

    assert line.endswith("a")


def test_edits_are_told_in_words():
    assert told_text(APPLIED) == (
        f"{clock(7.0)} the config was applied: added a; removed b; restarted c, d\n    note: links.max was changed"
    )
    assert told_text(ConfigApplied((), (), (), (), (), 7.0)).endswith("applied: no server changed")
    rejected = told_text(REJECTED)
    assert "nothing was changed" in rejected
    assert "line 3: no" in rejected
    assert told_text(CHANGED) == f"{clock(9.0)} work                tools: 2 new, 1 gone"
    assert told_text(CatalogChanged("work", (), (), (), 9.0)).endswith("tools: as before")


def test_lines_tell_of_edits_and_of_the_end(capsys: pytest.CaptureFixture[str]):
    view = LineView()
    view.tell(APPLIED)
    view.stopping()
    view.stopped()

    told = lines(capsys)
    assert "the config was applied" in told[0]
    assert [line.split()[1] for line in told[2:]] == ["stopping", "stopped"]


def table(*rows: Row) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    console.print(table_of(rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_table_has_a_row_for_each_server_and_takes_words_as_they_are():
    head, work, other = table(READY, Row("other", "http", "failed", "no [red]way[/red]\x1b[2J", None, 0, 0))

    assert head.split() == ["server", "transport", "state", "tools", "era", "since", "restarts", "reason"]
    assert work.split() == ["work", "stdio", "ready", "3", "2026-07-28", clock(0.0), "1"]
    assert other.split() == ["other", "http", "failed", "0", "-", "0", "no", "[red]way[/red]\\x1b[2J"]


def test_what_happens_is_told_above_the_table(capsys: pytest.CaptureFixture[str]):
    view = TableView()
    view.tell(CHANGED)
    view.rows([READY])
    view.tell(REJECTED)
    view.rows([FAILED])
    view.stopping()
    view.stopped()

    shown = capsys.readouterr().out
    assert shown.index("2 new") < shown.index("nothing was changed") < shown.index("stopping") < shown.index("stopped")
    assert "failed" in shown


def test_a_view_that_never_began_can_be_stopped(capsys: pytest.CaptureFixture[str]):
    TableView().stopping()

    assert "stopping" in capsys.readouterr().out


def test_people_at_a_terminal_get_the_table(monkeypatch: pytest.MonkeyPatch):
    assert isinstance(view_for(as_json=True), JsonView)
    assert isinstance(view_for(as_json=False), LineView)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert isinstance(view_for(as_json=False), TableView)
    assert isinstance(view_for(as_json=True), JsonView)


def test_on_a_narrow_terminal_each_stands_with_its_whole_name_and_its_reason_beneath():
    rows = [
        Row("a-rather-long-server-name", "stdio", "ready", "", "2026-07-28", 3, 0),
        Row("dies", "stdio", "failed", "the server exited with code 1, and said nothing", None, 0, 0),
    ]
    out = io.StringIO()
    Console(width=40, file=out).print(drawn(rows, 40))

    assert out.getvalue().splitlines() == [
        *("a-rather-long-server-name", "    ready  3 tools", "dies  failed  0 tools"),
        *("    the server exited with code 1, and", "    said nothing"),
    ]
    assert isinstance(drawn(rows, 200), Table)
