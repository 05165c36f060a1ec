"""`bascule logs`."""

import argparse
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bascule.cli.commands.logs import as_shape, as_text, wanted
from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from bascule.records.server_logs.file import LogLine, append, log_folder, log_path, make_private, write_line
from support.command import configured, entry, started
from support.waiting import fail_after

SAID = LogLine(0.0, "stderr", "ada", "s-1", "hello", 4711)


class Place:
    """A config with a server, and a state folder in which it is logged."""

    def __init__(self, folder: Path) -> None:
        self.config = configured(folder, echo=entry("echo"), other=entry("echo"))
        self.folder = log_folder(folder / "state", Path(self.config))

    def log(self, *lines: LogLine, server: str = "echo") -> None:
        make_private(self.folder)
        append(log_path(self.folder, server), b"".join(map(write_line, lines)))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    return Place(tmp_path)


def logs(place: Place, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    code = main(["logs", *words, "--config", place.config])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def a_line(text: str, **fields: Any) -> LogLine:
    line = LogLine(0.0, "stderr", "ada", "s-1", text, 1)
    return structs.replace(line, **fields)


def test_the_last_lines_are_shown(place: Place, capsys: pytest.CaptureFixture[str]):
    place.log(*(a_line(str(number)) for number in range(150)))
    code, lines, err = logs(place, capsys, "echo")
    assert (code, len(lines), lines[-1][-3:], err) == (0, 100, "149", "")
    assert lines[0].endswith("50")

    assert [line[-3:] for line in logs(place, capsys, "echo", "-n", "2")[1]] == ["148", "149"]


def test_nothing_logged_yet_is_said_and_is_no_error(place: Place, capsys: pytest.CaptureFixture[str]):
    assert logs(place, capsys, "echo") == (0, ["nothing was logged of echo yet"], "")
    assert logs(place, capsys, "echo", "--json") == (0, [], "")


def test_an_unknown_name_is_an_error_that_names_the_nearest(place: Place, capsys: pytest.CaptureFixture[str]):
    code, lines, err = logs(place, capsys, "ecko")
    assert (code, lines) == (2, [])
    assert "no server is called 'ecko'; did you mean echo?" in err

    assert "did you mean" not in logs(place, capsys, "zzzzz")[2]


def test_no_name_leads_out_of_the_folder(place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    place.log(SAID)
    append(tmp_path / "elsewhere.log", write_line(SAID))
    for name in (str(tmp_path / "elsewhere"), "../../../elsewhere", "./echo"):
        assert logs(place, capsys, name)[0] == 2


def test_a_server_that_is_not_configured_any_more_can_be_looked_at(place: Place, capsys: pytest.CaptureFixture[str]):
    place.log(SAID, server="gone")
    assert logs(place, capsys, "gone")[0] == 0
    assert "did you mean gone" in logs(place, capsys, "gon")[2]


def test_a_config_that_is_broken_hides_no_log(place: Place, capsys: pytest.CaptureFixture[str]):
    Path(place.config).write_text("mcp_servers: [")
    code, _, err = logs(place, capsys, "echo")
    assert (code, err[:7]) == (2, "BSC-100")

    place.log(SAID)
    assert logs(place, capsys, "echo")[0] == 0
    assert "no server is called 'ecko'" in logs(place, capsys, "ecko")[2]


def test_a_line_says_when_who_and_what():
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(0.0))
    ready, failed = a_line("", kind="link", pid=None, state="ready"), a_line("x", kind="link", pid=None, state="failed")

    assert as_text(SAID) == f"{at}  ada/s-1  [4711] hello"
    assert as_text(ready) == f"{at}  ada/s-1  link ready"
    assert as_text(failed) == f"{at}  ada/s-1  link failed: x"
    assert as_text(a_line("closed", kind="link", pid=None, state="closed")) == f"{at}  ada/s-1  link closed"
    assert as_text(LogLine(0.0, "note", "", "", "… 7 lines left out")) == f"{at}  … 7 lines left out"


def test_nothing_in_a_line_moves_the_cursor_or_makes_a_line_of_its_own():
    shown = as_text(a_line("a\n2026-01-01  b\r\x1b[2J\u202ec"))

    assert shown.endswith("a\\n2026-01-01  b\\r\\x1b[2J\\u202ec")


def test_a_shape_has_exactly_the_documented_keys(place: Place, capsys: pytest.CaptureFixture[str]):
    shape = {
        "at": 0.0,
        "server": "echo",
        "kind": "stderr",
        "user": "ada",
        "session": "s-1",
        "pid": 4711,
        "state": None,
        "text": "hello",
    }
    assert as_shape(SAID, "echo") == shape
    place.log(SAID, SAID)
    assert [json.loads(line) for line in logs(place, capsys, "echo", "--json")[1]] == [shape, shape]


@pytest.mark.parametrize(
    ("user", "session", "texts"),
    [
        (None, None, ["1", "2", "3", "note"]),
        ("ada", None, ["1", "2", "note"]),
        (None, "s-2", ["2", "3", "note"]),
        ("ada", "s-2", ["2", "note"]),
    ],
)
def test_only_those_of_one_user_or_session_can_be_asked_for(user: str | None, session: str | None, texts: list[str]):
    lines = [a_line("1"), a_line("2", session="s-2"), a_line("3", user="bob", session="s-2")]
    lines.append(LogLine(0.0, "note", "", "", "note"))
    options = argparse.Namespace(user=user, session=session)

    assert [line.text for line in wanted(lines, options)] == texts


async def test_a_log_can_be_followed(place: Place, tmp_path: Path):
    place.log(a_line("one"))
    words = ("logs", "echo", "--follow", "--json", "--config", place.config)
    async with fail_after(30), started(tmp_path, *words) as process:
        assert process.stdout is not None
        for text in ("one", "two", "three"):
            assert json.loads(await process.stdout.readline())["text"] == text
            place.log(a_line("two" if text == "one" else "three"))
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


def test_logs_takes_a_name_and_how_many_lines():
    options = build_parser().parse_args(["logs", "files", "-n", "0", "-f"])
    assert (options.name, options.lines, options.follow) == ("files", 0, True)
    assert build_parser().parse_args(["logs", "files"]).lines == 100


@pytest.mark.parametrize("lines", ["-1", "many", "1.5"])
def test_a_count_of_lines_is_none_or_more(lines: str):
    with pytest.raises(SystemExit):
        build_parser().parse_args(["logs", "files", f"--lines={lines}"])
