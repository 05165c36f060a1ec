"""The operator's command, on what is kept in a folder."""

import asyncio
import getpass
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from bascule.core.principal import Principal
from bascule.store.sqlite.store import SqliteStore
from support.command import Ran, bascule
from support.terminal import at_a_terminal

ME = ("--user", "alice", "--session", "s-1")
OPERATOR = f"operator {getpass.getuser()}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is run, without a config, here or as a process of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    return tmp_path


Run = Callable[..., Ran]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, which takes a tenth of the time."""

    def ran(*words: str) -> Ran:
        capsys.readouterr()
        code = main(["sessions", *words])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return ran


def begin(folder: Path, *principals: Principal) -> None:
    async def all_of_them() -> None:
        store = SqliteStore(folder / "state/bascule.db")
        for number, principal in enumerate(principals):
            await store.levels.begin(principal, 1.0 + number)
        await store.close()

    asyncio.run(all_of_them())


def alter(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "state/bascule.db")
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.usefixtures("folder")
def test_where_nobody_has_begun_nobody_is_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["sessions"]) == 0
    assert main(["sessions", "--json"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ('no agent session is known yet\n{"sessions":[]}\n', "")


def test_those_of_one_user_or_one_session_are_listed_alone(folder: Path, run: Run):
    begin(folder, Principal("alice", "s-1"), Principal("alice", "s-2"), Principal("bob", "s-1"))

    def listed(*words: str) -> list[str]:
        shown = run("--json", *words).json["sessions"]
        return [f"{each['user']}/{each['session']}" for each in shown]

    assert listed() == ["bob/s-1", "alice/s-2", "alice/s-1"]
    assert listed("--user", "alice") == ["alice/s-2", "alice/s-1"]
    assert listed("--session", "s-1") == ["bob/s-1", "alice/s-1"]
    assert listed(*ME) == ["alice/s-1"]
    assert run("--user", "carol").out == "no agent session is known by these ids\n"


@pytest.mark.usefixtures("folder")
def test_a_raise_is_told_with_its_receipt_and_is_kept(capsys: pytest.CaptureFixture[str]):
    words = ["sessions", "raise", *ME, "--to", "SECRET", "--dataset", "patients", "--reason", "told by phone"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["level"], told["lane"]) == (True, "secret", "sealed")
    assert told["receipt"]["cause"]["by"] == OPERATOR

    assert main(["sessions", "show", *ME]) == 0
    shown = capsys.readouterr().out
    assert "alice/s-1 is SECRET, lane sealed" in shown
    assert "raise: PUBLIC → SECRET" in shown
    assert f"by:       {OPERATOR} 'patients': told by phone" in shown
    assert "fence:    no other runtime had to be waited for" in shown
    assert main(words) == 0
    assert "alice/s-1 was SECRET already" in capsys.readouterr().out


def test_an_id_that_may_be_mistyped_is_raised_and_told(folder: Path, run: Run):
    begin(folder, Principal("alice", "s-1"))
    ran = run("raise", "--user", "alcie", "--session", "s-1", "--to", "secret")
    assert ran.code == 0
    assert ran.err == "note: alcie/s-1 was not known; it begins SECRET; did you mean alice/s-1?\n"
    assert "Traceback" not in ran.err
    assert run("raise", *ME, "--to", "secret").err == ""


@pytest.mark.parametrize("deed", ["show", "raise", "declassify", "end"])
@pytest.mark.parametrize("missing", ["--user", "--session"])
@pytest.mark.usefixtures("folder")
def test_which_agent_session_has_to_be_said(deed: str, missing: str, capsys: pytest.CaptureFixture[str]):
    more = {"raise": ["--to", "secret"], "declassify": ["--to", "public", "--reason", "x"]}.get(deed, [])
    given = [word for pair in (ME[:2], ME[2:]) if pair[0] != missing for word in pair]
    assert main(["sessions", deed, *given, *more]) == 2
    assert "--user ID and --session ID" in capsys.readouterr().err


@pytest.mark.parametrize(
    "deed", [("show",), ("declassify", "--to", "public", "--reason", "x", "--yes"), ("end", "--yes")]
)
def test_what_is_not_there_is_told_with_what_is_near(folder: Path, run: Run, deed: tuple[str, ...]):
    begin(folder, Principal("alice", "s-1"))
    ran = run(*deed, "--user", "alice", "--session", "s-2")
    assert ran.code == 2
    assert "there is no agent session alice/s-2; did you mean alice/s-1?" in ran.err


@pytest.mark.parametrize(
    "deed", [("declassify", "--to", "public", "--reason", "x"), ("end",)], ids=lambda deed: deed[0]
)
def test_without_a_terminal_nothing_is_lowered_or_ended_unless_told_so(folder: Path, run: Run, deed: tuple[str, ...]):
    run("raise", *ME, "--to", "secret")
    ran = run(*deed, *ME)
    assert (ran.code, ran.out) == (2, "")
    assert "with --yes" in ran.err
    (before,) = run("--json").json["sessions"]
    assert (before["level"], before["ended"], before["receipts"]) == ("secret", False, 1)

    done = run(*deed, *ME, "--yes", "--json")
    assert (done.code, done.json["receipt"]["change"]) == (0, deed[0])
    (after,) = run("--json").json["sessions"]
    assert (after["level"], after["ended"]) == (("public", False) if deed[0] == "declassify" else ("secret", True))


async def test_at_a_terminal_the_person_sees_what_they_lower_and_is_asked(folder: Path):
    await bascule(folder, "sessions", "raise", *ME, "--to", "secret", "--dataset", "patients")
    words = ("sessions", "declassify", *ME, "--to", "internal", "--reason", "test data")
    async with at_a_terminal(folder, *words) as command:
        await command.until("[y/N] ")
        assert "alice/s-1 is SECRET, lane sealed" in command.shown
        assert "patients (SECRET)" in command.shown
        assert "Lower it to INTERNAL?" in command.shown
        command.type("n\n")
        assert await command.end() == (4, "")
        assert "nothing was changed" in command.shown
    async with at_a_terminal(folder, *words) as command:
        await command.until("[y/N] ")
        command.type("y\n")
        code, out = await command.end()
        assert code == 0
        assert "declassify: SECRET → INTERNAL" in out


async def test_a_yes_to_what_has_changed_meanwhile_does_nothing(folder: Path):
    await bascule(folder, "sessions", "raise", *ME, "--to", "confidential")
    words = ("sessions", "declassify", *ME, "--to", "public", "--reason", "test data")
    async with at_a_terminal(folder, *words) as command:
        await command.until("[y/N] ")
        await bascule(folder, "sessions", "raise", *ME, "--to", "secret")
        command.type("y\n")
        assert await command.end() == (2, "")
        await command.until("has changed since you were asked")
    (after,) = (await bascule(folder, "sessions", "--json")).json["sessions"]
    assert (after["level"], after["receipts"]) == ("secret", 2)


def test_the_store_that_the_config_names_is_used_and_no_server_of_it_is_started(folder: Path, run: Run):
    config = {"mcp_servers": {"bad": {"command": "no-such-command-anywhere"}}, "store": str(folder / "other.db")}
    (folder / "bascule.yaml").write_text(json.dumps(config))
    assert run("raise", *ME, "--to", "secret").code == 0
    assert (folder / "other.db").exists()
    assert not (folder / "state/bascule.db").exists()
    (folder / "bascule.yaml").unlink()
    assert run("--json").json == {"sessions": []}
    assert run("--config", "none.yaml").code == 2


DAMAGES = {
    "a row that is no statement": "UPDATE sessions SET statement = x'00ff'",
    "a row that was altered": "UPDATE sessions SET statement = replace(statement, 's-1', 's-2')",
    "a row of another type": "UPDATE sessions SET statement = 7",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_cannot_be_read_is_shown_as_secret_with_its_doubt(folder: Path, run: Run, damage: str):
    begin(folder, Principal("alice", "s-1"))
    alter(folder, damage)
    (shown,) = run("--json").json["sessions"]
    assert (shown["level"], shown["lane"]) == ("secret", "sealed")
    assert "cannot be read" in shown["doubt"]
    assert "doubt:    its row" in run("show", *ME).out
    assert "its row in the database cannot be read" in run().out

    lowered = run("declassify", *ME, "--to", "public", "--reason", "seen to", "--yes")
    assert lowered.code == 0, lowered.err
    (after,) = run("--json").json["sessions"]
    assert (after["level"], after["doubt"]) == ("public", "")


def test_without_its_journal_or_its_key_everything_is_secret(folder: Path, run: Run):
    begin(folder, Principal("alice", "s-1"))
    (folder / "state/bascule.db-raises").rename(folder / "state/aside")
    (shown,) = run("--json").json["sessions"]
    assert (shown["level"], shown["doubt"] != "") == ("secret", True)
    (folder / "state/aside").rename(folder / "state/bascule.db-raises")
    (folder / "state/keys/levels.key").unlink()
    (shown,) = run("--json").json["sessions"]
    assert (shown["level"], shown["doubt"] != "") == ("secret", True)


def test_receipts_that_cannot_be_read_hide_no_level(folder: Path, run: Run):
    run("raise", *ME, "--to", "secret")
    alter(folder, "UPDATE receipts SET cause = 'no json'")
    ran = run("--json")
    (shown,) = ran.json["sessions"]
    assert (ran.code, shown["level"], shown["receipts"]) == (0, "secret", None)
    assert "receipt 1 cannot be read" in ran.err
    told = run("show", *ME)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("BSC-650")


BROKEN = {
    "a database that is none": lambda state: (state / "bascule.db").write_bytes(b"not a database" * 500),
    "a key that others can read": lambda state: (state / "keys/levels.key").chmod(0o644),
    "a key that was cut": lambda state: (state / "keys/levels.key").write_bytes(b"short"),
    "a folder in its place": lambda state: [(state / "bascule.db").unlink(), (state / "bascule.db").mkdir()],
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_used_at_all_is_explained_and_never_a_traceback(folder: Path, run: Run, broken: object):
    begin(folder, Principal("alice", "s-1"))
    assert callable(broken)
    broken(folder / "state")
    for words in (
        (),
        ("show", *ME),
        ("raise", *ME, "--to", "secret"),
        ("declassify", *ME, "--to", "public", "--reason", "x", "--yes"),
        ("end", *ME, "--yes"),
    ):
        ran = run(*words)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("BSC-650")
        assert "fix:" in ran.err
        assert "Traceback" not in ran.err


def test_an_agent_session_may_be_named_before_the_deed_or_after_it():
    words = ["sessions", "--user", "u", "--json", "end", "--session", "s", "--yes"]
    options = build_parser().parse_args(words)
    assert (options.deed, options.user, options.session, options.json) == ("end", "u", "s", True)
    assert (options.yes, options.reason, options.config) == (True, "", None)
    assert build_parser().parse_args(["sessions"]).deed is None


@pytest.mark.parametrize(
    "words",
    [
        ("raise",),
        ("raise", "--to", "public"),
        ("declassify", "--to", "secret", "--reason", "x"),
        ("declassify", "--to", "public"),
        ("end", "--to", "public"),
        ("forget",),
    ],
    ids=" ".join,
)
def test_a_deed_that_cannot_be_is_a_usage_error(words: tuple[str, ...]):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["sessions", *words])
    assert caught.value.code == 2


def test_a_level_is_named_as_in_the_config_or_as_it_is_shown():
    for word in ("secret", "SECRET"):
        assert build_parser().parse_args(["sessions", "raise", "--to", word]).to == "secret"
