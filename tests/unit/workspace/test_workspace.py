"""The files of one agent session, as an agent names them."""

import io
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from bascule.core.errors import PathRefused, UsageError, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from bascule.workspace.openat import Engine
from support.workspaces import in_call, open_descriptors, slots, texts


@pytest.mark.parametrize("mode", ["r", "rb", "r+", "rb+", "r+b", "w", "wb", "w+", "a", "ab", "a+", "x", "xb", "x+"])
@pytest.mark.parametrize("there", [True, False])
def test_a_file_opens_as_the_builtin_opens_it(workspace: Workspace, tmp_path: Path, mode: Any, there: bool):
    """Same content, same errors, same place to stand; only the name is another."""
    plain = tmp_path / "plain"
    if there:
        plain.write_bytes(b"one\r\ntwo\n")
        workspace.write_bytes("f", b"one\r\ntwo\n")
    ours, theirs = (used(opened, mode) for opened in (lambda: workspace.open("f", mode), lambda: plain.open(mode)))
    assert ours == theirs
    assert workspace.exists("f") == plain.exists()
    if plain.exists():
        assert workspace.read_bytes("f") == plain.read_bytes()


def used(opened: Any, mode: str) -> Any:
    try:
        file = opened()
    except (OSError, WorkspaceError):
        return "not opened"
    told: list[Any] = [type(file), file.readable(), file.writable(), file.tell()]
    with file:
        if file.readable():
            told.append(file.read())
        if file.writable():
            file.write(b"new\n" if "b" in mode else "new\n")
            told.append(file.tell())
    return told


def test_text_is_read_and_written_as_the_builtin_does_it(workspace: Workspace):
    with workspace.open("f", "w", encoding="utf-16", newline="\r\n") as file:
        file.write("ü\n")
    assert workspace.read_bytes("f") == "ü\r\n".encode("utf-16")
    assert workspace.read_text("f", "utf-16") == "ü\r\n"
    with workspace.open("f", encoding="ascii", errors="replace") as file:
        assert "\ufffd" in file.read()


def test_an_open_file_is_called_as_the_agent_calls_it(workspace: Workspace, files: Path):
    workspace.write_text("d/f", "x")
    for mode in ("r", "rb", "a"):
        with workspace.open("d/f", mode) as file:
            assert file.name == "/workspace/d/f"
            assert str(files) not in repr(file)


def test_a_mode_that_there_is_not_is_a_mistake_of_the_caller(workspace: Workspace):
    for mode in ("", "q", "rw", "w+a", "U"):
        with pytest.raises(UsageError, match="no mode"):
            workspace.open("f", mode)  # type: ignore[call-overload]


def test_folders_on_the_way_are_made(workspace: Workspace):
    workspace.open("a/b/c", "x").close()
    workspace.write_text("d/e/f", "x")
    workspace.rename("d/e/f", "g/h/i")
    assert workspace.stat("g/h/i").kind == "file"
    assert [entry.name for entry in workspace.list()] == ["a", "d", "g"]


def test_a_listing_tells_names_kinds_and_sizes(workspace: Workspace):
    workspace.write_text("b", "four")
    workspace.make_folder("a")
    assert [(entry.name, entry.kind, entry.size) for entry in workspace.list("/workspace")] == [
        ("a", "folder", 0),
        ("b", "file", 4),
    ]
    assert workspace.list("a") == ()
    assert workspace.stat("/workspace").kind == "folder"
    assert workspace.stat("b") == workspace.list()[1]


def test_what_is_not_there_does_not_exist_and_what_leads_out_is_refused(workspace: Workspace, files: Path):
    workspace.write_text("f", "")
    (files / "dangling").symlink_to("nothing")
    (files / "out").symlink_to("/etc")
    found = [workspace.exists(path) for path in ("f", "g", "f/x", "dangling", PurePosixPath("f"))]
    assert found == [True, False, False, False, True]
    for path in ("../x", "/etc", "out/passwd"):
        with pytest.raises(PathRefused):
            workspace.exists(path)


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda w: w.read_text("nothing"), "was not found"),
        (lambda w: w.list("nothing"), "was not found"),
        (lambda w: w.stat("nothing"), "was not found"),
        (lambda w: w.delete("nothing"), "was not found"),
        (lambda w: w.read_bytes("d"), "is a folder"),
        (lambda w: w.write_text("d", ""), "is a folder"),
        (lambda w: w.open("d", "w"), "is a folder"),
        (lambda w: w.list("d/f"), "is no folder"),
        (lambda w: w.read_text("d/f/g"), "is no folder"),
        (lambda w: w.write_text("d/f/g", ""), "is no folder"),
        (lambda w: w.delete("d"), "not empty"),
        (lambda w: w.delete("/workspace"), "itself stays"),
        (lambda w: w.delete_tree("."), "itself stays"),
        (lambda w: w.read_text("binary"), "is no text in utf-8"),
    ],
)
def test_a_failure_names_the_file_as_the_agent_does_and_nothing_hangs_on_to_it(
    workspace: Workspace, files: Path, act: Any, why: str
):
    workspace.write_text("d/f", "x")
    workspace.write_bytes("binary", b"\xff\xfe")
    with pytest.raises(WorkspaceError, match=why) as caught:
        act(workspace)
    assert caught.value.message.startswith("/workspace")
    assert caught.value.fix
    assert caught.value.__context__ is None
    assert not [text for text in texts(caught.value) if str(files.parent) in text]


def test_each_principal_has_its_own(tmp_path: Path):
    with (
        Workspace.of(Principal("alice", "1"), tmp_path) as first,
        Workspace.of(Principal("alice", "2"), tmp_path) as second,
        Workspace.of(Principal("alice", "1"), tmp_path) as again,
    ):
        first.write_text("f", "hers")
        assert not second.exists("f")
        assert again.read_text("f") == "hers"
        assert first.host_path("f") == again.host_path("f") != second.host_path("f")


def test_where_it_lies_is_told_only_to_who_asks_for_it(workspace: Workspace, files: Path, tmp_path: Path):
    assert workspace.host_path("/workspace") == str(files)
    assert workspace.host_path("a/../b") == str(files / "b")
    assert workspace.path_of(files / "a" / ".." / "b") == "/workspace/b"
    assert str(tmp_path) not in repr(workspace)


def test_a_place_behind_a_link_is_known_by_both_names(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    with Workspace(tmp_path / "root" / "home") as workspace:
        assert workspace.host_path("f") == str(tmp_path / "root/home/files/f")
        assert workspace.path_of(tmp_path / "real/home/files/f") == "/workspace/f"


def test_a_reader_sees_the_old_file_or_the_new_one(workspace: Workspace):
    workspace.write_text("f", "old")
    with workspace.open("f") as file:
        workspace.write_text("f", "new and longer")
        assert file.read() == "old"
    assert workspace.read_text("f") == "new and longer"


def test_when_it_is_closed_nothing_of_it_is_open(tmp_path: Path, engine: Engine):
    workspace = Workspace(tmp_path / "home", engine=engine)
    workspace.write_text("f", "x")
    file = workspace.open("f")
    assert isinstance(file, io.TextIOWrapper)
    workspace.close()
    workspace.close()
    assert file.read() == "x"
    file.close()
    with pytest.raises(UsageError, match="closed"):
        workspace.read_text("f")
    assert open_descriptors(tmp_path) == 0


def test_a_call_that_ends_when_it_is_closed_keeps_its_originals_in_the_attic(tmp_path: Path):
    workspace = Workspace(tmp_path / "home")
    workspace.write_text("f", "old")
    call = Transaction()
    with in_call(call):
        workspace.write_text("f", "new")
    workspace.close()
    assert call.rollback()[0] is Ending.FAILED
    assert (tmp_path / "home" / "files" / "f").read_text() == "new"
    (kept,) = slots(tmp_path / "home")
    assert Path(kept).read_text() == "old"


def test_in_a_box_the_folder_is_the_files_and_they_are_confined_all_the_same(
    engine: Engine, tmp_path: Path, outside: Path
):
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "from outside").write_text("before")
    (shown / "out").symlink_to(outside)
    with Workspace(shown, engine=engine, bare=True) as workspace:
        assert workspace.read_text("/workspace/from outside") == "before"
        workspace.write_text("d/f", "one")
        workspace.write_text("d/f", "two")
        with workspace.open("d/g", "w") as file:
            file.write("three")
        workspace.rename("d/g", "d/h")
        workspace.delete("from outside")
        for path in ("out/secret.txt", "../outside/secret.txt", str(outside / "secret.txt")):
            with pytest.raises(PathRefused):
                workspace.read_text(path)
        assert [entry.name for entry in workspace.list()] == ["d", "out"]
        assert workspace.host_path("d/f") == str(shown / "d/f")
        assert workspace.path_of(shown / "d/f") == "/workspace/d/f"

    assert {path.name: path.read_text() for path in (shown / "d").iterdir()} == {"f": "two", "h": "three"}
    assert [*(shown / ".bascule").iterdir()] == []


@pytest.mark.parametrize("path", [".bascule", "/workspace/.bascule/1/0", "a/../.bascule", "./.bascule//x"])
def test_what_is_ours_among_the_files_is_not_the_agents(workspace: Workspace, files: Path, path: str):
    (files / ".bascule").mkdir()
    for act in (workspace.read_bytes, workspace.list, workspace.delete_tree, workspace.exists):
        with pytest.raises(PathRefused, match="not the agent's"):
            act(path)
    workspace.write_text("a/.bascule", "this is another one")
    assert [entry.name for entry in workspace.list()] == ["a"]
    assert [entry.name for entry in workspace.list("a")] == [".bascule"]
