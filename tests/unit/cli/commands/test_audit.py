"""`bascule audit`: times on the command line, exported files, verification."""

import csv
import io
import json
import os
import stat
from datetime import datetime
from pathlib import Path

import pytest

from bascule.cli.commands.audit import COLUMNS, since, write_entries
from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import UsageError
from bascule.records.audit.read import Entry
from support.auditing import fill, log_file, opened
from support.links import BOB


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return Path(os.environ["BASCULE_HOME"])


def run(*argv: str) -> int:
    return main(["audit", *argv])


@pytest.fixture
def written(state: Path) -> Path:
    import asyncio

    async def write() -> None:
        async with opened(state) as audit:
            fill(audit, 2)
            fill(audit, 1, BOB)

    asyncio.run(write())
    return state


def test_only_what_was_asked_for_is_shown(written: Path, capsys: pytest.CaptureFixture[str]):
    assert run("show", "--user", "bob", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [record["session"] for record in shown["records"]] == [BOB.session_id]
    assert run("show", "--server", "other") == 0
    assert capsys.readouterr().out == "nothing is logged of these\n"
    assert run("show", "--session", "s-1", "--last", "1") == 0
    assert capsys.readouterr().out.count("sending") == 1
    assert run("show", "--since", "1s", "--json") == 0
    assert json.loads(capsys.readouterr().out)["records"] == []


def test_lines_that_are_no_records_are_told(written: Path, capsys: pytest.CaptureFixture[str]):
    with log_file(written).open("ab") as file:
        file.write(b"rubbish\n")
    assert run("show") == 0
    assert "1 lines are no records" in capsys.readouterr().err
    assert run("export", "out") == 0
    assert "5 records are in out" in capsys.readouterr().err


def test_a_log_that_is_not_what_was_written_is_an_error(written: Path, capsys: pytest.CaptureFixture[str]):
    assert run("verify") == 0
    assert "intact" in capsys.readouterr().out
    log_file(written).write_bytes(log_file(written).read_bytes().replace(b"bob", b"eve"))
    assert run("verify", "--json") == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_without_its_key_nothing_is_verified(written: Path, capsys: pytest.CaptureFixture[str]):
    (written / "keys" / "audit.key").unlink()

    assert run("verify") == 1
    assert "BSC-650" in capsys.readouterr().err


def test_a_log_that_is_gone_with_its_folder_is_missed(written: Path, capsys: pytest.CaptureFixture[str]):
    for path in (written / "audit").iterdir():
        path.unlink()

    assert run("verify") == 1
    assert "the id of the audit folder is not there" in capsys.readouterr().out


def test_where_nothing_was_logged_all_is_in_order(state: Path, capsys: pytest.CaptureFixture[str]):
    assert run("verify") == 0
    assert "nothing is logged yet" in capsys.readouterr().out
    assert not (state / "keys" / "audit.key").exists()


def test_what_is_no_anchor_is_told(state: Path, capsys: pytest.CaptureFixture[str]):
    assert run("verify", "--anchor", "x:y:z") == 2
    assert "is no anchor" in capsys.readouterr().err


def test_it_has_to_be_said_what_is_wanted(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        run()


NOW = 1_000_000.0


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("7d", 604_800)])
def test_so_long_ago(text: str, seconds: int):
    assert since(text, NOW) == NOW - seconds


def test_a_day_and_a_time_of_day_are_those_of_this_place():
    assert since("2026-11-01", NOW) == datetime(2026, 11, 1).astimezone().timestamp()
    assert since("2026-11-01T08:30", NOW) == datetime(2026, 11, 1, 8, 30).astimezone().timestamp()
    assert since("1970-01-02T00:00+00:00", NOW) == 86400


def test_what_is_not_given_is_the_beginning():
    assert since(None, NOW) == 0


@pytest.mark.parametrize("text", ["", "yesterday", "10", "10y", "-5m", "0000-01-01T00:00"])
def test_what_is_no_time_is_told(text: str):
    with pytest.raises(UsageError, match="is no time"):
        since(text, NOW)


ENTRIES = [
    Entry("w-0001", 1, 1.5, "began", {"pid": 7}),
    Entry("w-0001", 2, 2.5, "ended", {"user": "=1+1", "session": "s,\n", "outcome": "ok", "seconds": 0.25, "call": 1}),
]


def test_lines_of_json_hold_everything(tmp_path: Path):
    path = tmp_path / "out.jsonl"

    assert write_entries(ENTRIES, str(path), as_csv=False) == 2
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"at": 1.5, "writer": "w-0001", "seq": 1, "kind": "began", "pid": 7},
        {"at": 2.5, "writer": "w-0001", "seq": 2, "kind": "ended", **ENTRIES[1].fields},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_table_has_a_column_for_what_most_records_tell_and_one_for_the_rest(
    capsys: pytest.CaptureFixture[str],
):
    assert write_entries(ENTRIES, "-", as_csv=True) == 2
    heading, first, second = csv.reader(io.StringIO(capsys.readouterr().out))

    assert heading == [*COLUMNS, "more"]
    assert dict(zip(heading, first, strict=True))["more"] == '{"pid":7}'
    row = dict(zip(heading, second, strict=True))
    assert (row["outcome"], row["seconds"], row["call"], row["session"]) == ("ok", "0.25", "1", "s,\n")
    # A spreadsheet would compute it.
    assert row["user"] == "'=1+1"


def test_nothing_is_a_heading(capsys: pytest.CaptureFixture[str]):
    assert write_entries([], "-", as_csv=True) == write_entries([], "-", as_csv=False) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot be written"):
        write_entries(ENTRIES, str(tmp_path), as_csv=False)


def test_the_log_is_exported_as_lines_to_stdout_unless_it_is_said_otherwise():
    options = build_parser().parse_args(["audit", "--json", "export"])
    assert (options.deed, options.format, options.file, options.json) == ("export", "jsonl", "-", True)


def test_anchors_may_be_several():
    assert build_parser().parse_args(["audit", "verify", "--anchor", "a", "--anchor", "b"]).anchor == ["a", "b"]
