"""Views of `bascule import`."""

from pathlib import Path
from typing import Any

import pytest

from bascule.cli.views.import_ import Import, as_shape, diff, lines, undone_lines
from bascule.config.editing.add_server import additions, dotenv_with
from bascule.config.editing.undo import Undone
from bascule.config.importing.merge import merge
from bascule.config.importing.programs import PROGRAMS, ForeignFile
from bascule.config.importing.read_client_config import Borrowed, Find

CURSOR = next(program for program in PROGRAMS if program.name == "cursor")
VSCODE = next(program for program in PROGRAMS if program.name == "vscode")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKEN", raising=False)
    return tmp_path


def shown(folder: Path, *finds: Find, written: bool = False, secrets: bool = False, **more: Any) -> Import:
    path = folder / "bascule.yaml"
    merged = merge(finds, {})
    borrowed = [Borrowed(finds[0].file, finds, **more)]
    dotenv = dotenv_with(folder / ".env", merged.variables.values) if secrets else None
    return Import(borrowed, merged, additions(path, merged.entries), dotenv, written=written, again="bascule import")


def find(folder: Path, name: str = "desk", program: Any = CURSOR, **given: Any) -> Find:
    entry = given.pop("entry", {"command": "desk", "env": {"TOKEN": "s3cret"}})
    return Find(name, name, ForeignFile(program, folder / "mcp.json"), entry, **given)


def text(told: Import, home: Path) -> str:
    return "\n".join(lines(told, home))


def test_a_diff_says_what_would_be_new(folder: Path):
    told = shown(folder, find(folder))

    assert diff(told.config)[:2] == ["--- /dev/null", "+++ bascule.yaml"]
    assert '+      TOKEN: "${TOKEN}"' in text(told, folder)
    assert "s3cret" not in text(told, folder) + str(as_shape(told))


def test_what_would_be_done_is_not_said_to_be_done(folder: Path):
    assert "desk  of Cursor  would be added" in text(shown(folder, find(folder)), folder)
    assert "desk  of Cursor  added" in text(shown(folder, find(folder), written=True), folder)


def test_variables_are_named_with_what_a_person_is_told_of_them(folder: Path, monkeypatch: pytest.MonkeyPatch):
    entry = {"command": "a", "env": {"TOKEN": "${TOKEN}"}}
    told = shown(folder, find(folder, entry=entry, described={"TOKEN": "The key of the desk"}))
    assert "TOKEN must be set (The key of the desk), for desk\n" in text(told, folder)
    monkeypatch.setenv("TOKEN", "x")
    assert "TOKEN is set (The key of the desk), for desk" in text(told, folder)


def test_a_variable_of_the_file_beside_counts_as_set(folder: Path):
    (folder / ".env").write_text("TOKEN=x\n")

    assert "TOKEN is set, for desk" in text(shown(folder, find(folder)), folder)


def test_credentials_that_are_copied_are_said_to_be(folder: Path):
    told = text(shown(folder, find(folder), secrets=True), folder)

    assert "TOKEN is put into .env, for desk" in told
    assert "keep it out of version control" in told


def test_what_is_left_out_is_named_with_the_reason(folder: Path):
    told = shown(folder, find(folder, left_out={"trust": "because"}, notes=("odd",)), notes=("more elsewhere",))

    assert "desk: odd\ndesk: trust is left out: because\nmcp.json: more elsewhere" in text(told, folder)


def test_a_credential_among_arguments_is_told_with_a_way_to_go_on(folder: Path):
    told = text(shown(folder, find(folder, entry={"command": "npx", "args": ["--token", "s3cret"]})), folder)

    assert "left out: args[1]: looks like a credential" in told
    assert "bascule add desk --env NAME -- npx …" in told
    assert "there is nothing to add to bascule.yaml" in told
    assert "s3cret" not in told


def test_a_package_that_is_not_pinned_is_pointed_out(folder: Path):
    told = text(shown(folder, find(folder, entry={"command": "npx", "args": ["-y", "desk-mcp"]})), folder)

    assert "not pinned: desk-mcp. `bascule doctor` says" in told


def test_a_file_is_shown_by_the_shortest_name(folder: Path):
    home, away = Path("/home/ada"), Path("/srv/x.json")
    foreign_files = [home / ".cursor/mcp.json", folder / ".mcp.json", away]
    told = shown(folder, find(folder))
    borrowed = [Borrowed(ForeignFile(CURSOR, path), problem="odd") for path in foreign_files]
    rows = lines(Import(borrowed, told.merged, told.config, None, written=False, again=""), home)

    assert [row.split()[1] for row in rows[1:4]] == ["~/.cursor/mcp.json", ".mcp.json", "/srv/x.json"]
    assert rows[1].endswith("skipped: odd")


def test_every_fate_has_its_words(folder: Path):
    told = text(
        shown(
            folder,
            find(folder, "a", entry={"command": "x"}),
            find(folder, "a", VSCODE, entry={"command": "x"}),
            find(folder, "a", VSCODE, entry={"command": "y"}),
            find(folder, "b", disabled=True),
            find(folder, "c", refused="it is odd"),
            find(folder, "d", entry={"command": "z", "env": {"TOKEN": "1a"}}),
            find(folder, "d", VSCODE, entry={"command": "z", "env": {"TOKEN": "2b"}}),
        ),
        folder,
    )

    assert "the same as a above" in told
    assert "would be added as a-vscode: another server is called a" in told
    assert "left out: it is disabled there" in told
    assert "left out: it is odd" in told
    assert "the same as d above; another credential, so set the one you mean" in told


def test_the_json_has_all_of_it(folder: Path):
    shape = as_shape(shown(folder, find(folder), written=True))

    assert (shape["written"], shape["new"], shape["undo"]) == (True, True, "bascule import --undo")
    assert shape["servers"][0]["entry"] == {"command": "desk", "env": {"TOKEN": "${TOKEN}"}}
    assert shape["needs"] == [{"name": "TOKEN", "set": False, "secret": True, "kept": False, "servers": ["desk"]}]
    assert as_shape(shown(folder, find(folder)))["undo"] is None


def test_what_was_undone_is_told():
    assert undone_lines(Undone((Path("/a"),), (Path("/b"),))) == [
        "/a is as it was before the import",
        "/b is removed: the import had made it",
    ]
