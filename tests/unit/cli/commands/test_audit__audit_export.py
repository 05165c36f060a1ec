"""The log as a file for other programs."""

import csv
import io
import json
import stat
from pathlib import Path

import pytest

from bascule.cli.commands.audit import COLUMNS, write_entries
from bascule.core.errors import UsageError
from bascule.records.audit.read import Entry

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
