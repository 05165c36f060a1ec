"""`bascule import`: the servers that other programs have come into the config, if they are to."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule.config import load_file
from support.command import Ran, bascule
from support.servers import argv

pytestmark = pytest.mark.requirement("UX-2")

OURS = """\
# the servers of this project
mcp_servers:
  own:              # the first one
    command: python
    args: [-m, bascule.demo.notes]

# not too many
links: {max: 7}
"""

SECRET = "ghp_abcdefghij0123456789"


def echo(**more: Any) -> dict[str, Any]:
    command, *args = argv("echo")
    return {"command": command, "args": args, **more}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The files of five programs, as they lay them out on this kind of machine."""
    files: dict[str, Any] = {
        "project/.mcp.json": {"mcpServers": {"work": echo(), "hub": {"type": "http", "url": "https://hub.test/mcp"}}},
        "home/.claude.json": {
            "mcpServers": {"memory": {"command": "memory"}},
            "projects": {str(tmp_path / "project"): {"mcpServers": {"local": {"command": "local"}}}},
        },
        "home/.config/Claude/claude_desktop_config.json": {
            "mcpServers": {"hub": {"command": "hub", "env": {"HUB_TOKEN": SECRET}}}
        },
        "home/.cursor/mcp.json": {"mcpServers": {"work": echo(), "off": {"command": "off", "disabled": True}}},
        "home/.config/Code/User/mcp.json": {
            "inputs": [{"id": "desk-key", "type": "promptString", "description": "Key of the desk", "password": True}],
            "servers": {"Desk": {"command": "desk", "env": {"KEY": "${input:desk-key}"}}},
        },
        "home/.gemini/settings.json": {
            "theme": "dark",
            "mcpServers": {"maps": {"httpUrl": "https://maps.test/mcp", "trust": True, "includeTools": ["find"]}},
        },
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return tmp_path


async def imported(home: Path, *words: str) -> Ran:
    own = {"HOME": str(home / "home"), "XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    return await bascule(home / "project", "import", *words, env=own)


def read(home: Path) -> dict[str, Any]:
    return dict(load_file(home / "project/bascule.yaml", {"HUB_TOKEN": "x", "DESK_KEY": "y"}).servers)


async def test_what_five_programs_have_is_shown_and_nothing_is_changed(home: Path):
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    ran = await imported(home)

    assert ran.code == 0, ran.err
    for title in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI"):
        assert title in ran.out
    assert "+++ bascule.yaml" in ran.out
    assert "nothing is changed yet; to write bascule.yaml: bascule import --write" in ran.out
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


async def test_what_is_written_is_what_was_shown(home: Path):
    shown = (await imported(home, "--json")).json
    ran = await imported(home, "--write")

    assert ran.code == 0, ran.err
    added = [line[1:] for line in shown["diff"].splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert (home / "project/bascule.yaml").read_text().splitlines() == added
    assert [*read(home)] == ["work", "hub", "local", "memory", "hub-claude-desktop", "desk", "maps"]
    assert read(home)["maps"].allow == ("find",)


async def test_an_imported_server_can_be_called(home: Path):
    await imported(home, "--only", "work", "--write")
    called = await bascule(home / "project", "call", "work_echo", "message=hi")

    assert (called.code, "hi" in called.out) == (0, True), called.err


async def test_names_that_two_programs_have_are_told_apart(home: Path):
    servers = (await imported(home, "--json")).json["servers"]
    by_program = {(each["program"], each["theirs"]): (each["name"], each["fate"]) for each in servers}

    assert by_program["cursor", "work"] == ("work", "same")
    assert by_program["claude-desktop", "hub"] == ("hub-claude-desktop", "added")
    assert "would be added as hub-claude-desktop: another server is called hub" in (await imported(home)).out


@pytest.mark.requirement("CFG-6")
async def test_no_credential_is_shown_or_written(home: Path):
    ran, told = await imported(home, "--write"), await imported(home, "--json")
    text = (home / "project/bascule.yaml").read_text()

    assert SECRET not in ran.out + ran.err + told.out + text
    assert 'HUB_TOKEN: "${HUB_TOKEN}"' in text
    assert "HUB_TOKEN must be set, for hub-claude-desktop: a credential, which is not copied" in ran.out
    assert "DESK_KEY must be set (Key of the desk), for desk" in ran.out


async def test_credentials_are_copied_for_the_user_alone_if_they_are_to(home: Path):
    ran = await imported(home, "--write", "--with-secrets")
    dotenv = home / "project/.env"

    assert SECRET not in ran.out + (home / "project/bascule.yaml").read_text()
    assert dotenv.read_text() == f"HUB_TOKEN='{SECRET}'\n"
    assert dotenv.stat().st_mode & 0o077 == 0
    assert read(home)["hub-claude-desktop"].unavailable_reason is None


async def test_all_that_was_in_the_config_stays_and_comes_back_by_undoing(home: Path):
    path = home / "project/bascule.yaml"
    path.write_text(OURS)
    ran = await imported(home, "--write")
    text = path.read_text()

    head, blank, tail = OURS.partition("\n\n")
    assert text.startswith(f"{head}\n")
    assert text.endswith(f"{blank}{tail}")
    assert "undo: bascule import --undo" in ran.out
    undone = await imported(home, "--undo")
    assert (undone.code, path.read_text()) == (0, OURS)


async def test_undoing_removes_what_an_import_has_made(home: Path):
    before = sorted((home / "project").iterdir())
    await imported(home, "--write", "--with-secrets")
    ran = await imported(home, "--undo", "--json")

    assert len(ran.json["removed"]) == 2
    assert sorted(path for path in (home / "project").iterdir() if path.name != "state") == before


async def test_a_config_that_was_edited_since_is_not_undone(home: Path):
    await imported(home, "--write")
    path = home / "project/bascule.yaml"
    path.write_text(path.read_text() + "# mine\n")
    ran = await imported(home, "--undo")

    assert ran.code == 2
    assert "was changed since it was imported into" in ran.err
    assert path.read_text().endswith("# mine\n")


async def test_a_second_import_adds_nothing(home: Path):
    await imported(home, "--write")
    text = (home / "project/bascule.yaml").read_text()
    ran = await imported(home, "--write")

    assert "there is nothing to add to bascule.yaml" in ran.out
    assert (home / "project/bascule.yaml").read_text() == text


async def test_a_broken_file_is_told_and_takes_no_other_away(home: Path):
    (home / "home/.cursor/mcp.json").write_text('{"mcpServers": {broken')
    (home / "home/.gemini/settings.json").write_bytes(b"\xff\xfe")
    ran = await imported(home, "--json")

    problems = {each["program"]: each["problem"] for each in ran.json["found"] if each["problem"]}
    assert ran.code == 0
    assert problems.keys() == {"cursor", "gemini"}
    assert "not JSON" in problems["cursor"]
    assert "work" in [each["name"] for each in ran.json["servers"]]


async def test_what_is_not_taken_over_is_named(home: Path):
    ran = await imported(home)

    assert "maps: trust is left out" in ran.out
    assert "left out: it is disabled there" in ran.out


async def test_one_server_of_one_program_can_be_taken(home: Path):
    ran = await imported(home, "--from", "vscode", "--only", "Desk", "--write")

    assert ran.code == 0, ran.err
    assert [*read(home)] == ["desk"]


async def test_any_file_can_be_taken_from(home: Path):
    (home / "project/old.json").write_text(json.dumps({"mcpServers": {"old": echo()}}))
    ran = await imported(home, "--from", "old.json", "--write")

    assert ran.code == 0, ran.err
    assert [*read(home)] == ["old"]
