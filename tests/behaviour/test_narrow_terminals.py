"""On a narrow terminal nothing is lost: names and codes stay whole, and lines are wrapped between words."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import warm
from support.command import configured, entry, environment
from support.runtime import a_tool
from support.terminal import at_a_terminal
from support.waiting import PATIENCE

pytestmark = pytest.mark.requirement("UX-2")

WHO = ("--user", "alice@example.org", "--session", "auth0-12345678")
SERVER = "a-rather-long-server-name"
TOOL = f"{SERVER}_summarise_the_minutes"
SAID = "Summarise the minutes of a meeting, with all that was decided, by whom, and until when."

SHOWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "list": (("list", "--tokens"), (SERVER, TOOL, "dies", "ready", "BSC-410", "no-such-program-anywhere")),
    "doctor": (("doctor",), (SERVER, "dies", "BSC-410", "no-such-program-anywhere")),
    "sessions": (("sessions",), ("alice@example.org", "auth0-12345678", "SECRET", "sealed", "payroll")),
    "sessions show": (("sessions", "show", *WHO), ("alice@example.org/auth0-12345678", "SECRET", "payroll")),
    "audit show": (("audit", "show"), ("alice@example.org/auth0-12345678", "level", "state=ready", "code=BSC-410")),
    "audit verify": (("audit", "verify"), ("intact", "anchor:")),
    "logs": (("logs", "dies"), ("alice@example.org/auth0-12345678", "no-such-program-anywhere")),
    "sandbox ls": (("sandbox", "ls"), ("boxes",)),
    "explain": (("explain",), ("BSC-410", "started")),
    "inspect": (("inspect", TOOL), (TOOL, "sha256:")),
}
"""Commands, and words that have to be there as they are."""

AS_IT_IS = {"inspect"}
"""What can be copied as YAML: the terminal wraps it."""


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project in which there is something to show, and a copy of that."""
    folder = tmp_path_factory.mktemp("lived_in") / "project"
    folder.mkdir()
    tools = json.dumps([a_tool("summarise_the_minutes", description=SAID)])
    servers = {SERVER: entry("obeying", folder / "log", tools), "dies": {"command": "no-such-program-anywhere"}}
    configured(folder, **servers)
    for words in (("list",), ("sessions", "raise", "--to", "secret", "--dataset", "payroll")):
        ran = subprocess.run(
            [warm.bascule(), *words, *WHO],
            check=False,
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            timeout=60 * PATIENCE,
        )
    assert ran.returncode == 0, ran.stderr
    shutil.copytree(folder, folder.with_name("copy"))
    return folder.parent


@pytest.fixture
def folder(lived_in: Path) -> Path:
    """As it was, for each test: what another has done there is gone. The state knows a project by its path."""
    shutil.rmtree(lived_in / "project")
    return shutil.copytree(lived_in / "copy", lived_in / "project")


async def shown(folder: Path, words: tuple[str, ...], columns: int) -> list[str]:
    async with at_a_terminal(folder, *words, columns=columns, out=True, env={"COLUMNS": str(columns)}) as terminal:
        await terminal.end()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown.replace("\r\x1b[2K", "\n"))
    return [line.rstrip("\r") for line in plain.split("\n")]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.long
async def test_names_and_codes_stay_whole_and_lines_are_wrapped_between_words(folder: Path, name: str, columns: int):
    words, whole = SHOWN[name]
    lines = await shown(folder, words, columns)
    # One long word is better wrapped by the terminal than cut; before it there may be blanks, a mark or a label.
    long = [line for line in lines if len(line) > columns and len(line.split()) > 2]

    assert [word for word in whole if not any(word in line for line in lines)] == [], "\n".join(lines)
    assert name in AS_IT_IS or long == []


async def test_a_description_that_is_cut_has_a_sign_and_on_a_narrow_terminal_is_whole(folder: Path):
    wide, narrow = await shown(folder, ("list",), 90), await shown(folder, ("list",), 40)

    assert [line[-1] for line in wide if line.startswith(f"  {TOOL}")] == ["…"]
    assert SAID in " ".join(" ".join(narrow).split())


@pytest.mark.parametrize("columns", [40, 60])
async def test_up_shows_each_server_with_its_whole_name(folder: Path, columns: int):
    env = {"COLUMNS": str(columns)}
    async with at_a_terminal(folder, "up", columns=columns, out=True, env=env) as terminal:
        await terminal.until("1 tool")
        terminal.type("\x03")
        terminal.process.terminate()
        await terminal.end()

    assert SERVER in terminal.shown
    assert "no-such-program-anywhere" in terminal.shown
