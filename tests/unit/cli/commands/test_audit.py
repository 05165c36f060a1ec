"""`bascule audit`."""

import json
import os
from pathlib import Path

import pytest

from bascule.cli.main import main
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
