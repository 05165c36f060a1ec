""" """

import threading

import pytest

from bascule.core.errors import PathRefused, UsageError, WorkspaceError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import FilesConnector, FileSource, files
from bascule.kit.connectors.files import MAX_WRITTEN, FoundLine, fits, search
from bascule.workspace import Workspace
from support.private_data import Book


def test_a_text_is_written_and_read_in_parts(workspace: Workspace):
    assert FilesConnector.write("a/b.txt", "one\ntwo\n") == 8
    assert FilesConnector.append("a/b.txt", "three\n") == 6
    assert FilesConnector.read("a/b.txt").text == "one\ntwo\nthree\n"
    assert FilesConnector.read("a/b.txt", offset=2, limit=1).text == "two\n"
    assert FilesConnector.head("a/b.txt", 1).text == "one\n"
    assert FilesConnector.tail("a/b.txt", 1).text == "three\n"
    assert [entry.name for entry in FilesConnector.list("a")] == ["b.txt"]
    assert [match.line for match in FilesConnector.find("*.txt", "three").matches] == [3]


@pytest.mark.parametrize(
    ("before", "place", "expected", "text", "after"),
    [
        ("a\nb\nc\n", (2, 2), "b", "B", "a\nB\nc\n"),
        ("a\nb\nc\n", (2, 3), "b\nc\n", "B\n", "a\nB\n"),
        ("a\nb", (2, 2), "b", "B", "a\nB"),
        ("a\nb\n", (2, 1), "", "new", "a\nnew\nb\n"),
        ("a\nb", (3, 2), "", "c", "a\nb\nc"),
        ("a\n", (1, 1), "a", "", ""),
        ("", (1, 0), "", "a\n", "a\n"),
        ("a\r\nb\r\n", (1, 1), "a\n", "x\ny", "x\r\ny\r\nb\r\n"),
        ("a\u2028b\nc\n", (2, 2), "c", "d", "a\u2028b\nd\n"),
    ],
)
def test_lines_are_edited_in_their_place(
    workspace: Workspace, before: str, place: tuple[int, int], expected: str, text: str, after: str
):
    workspace.write_text("f", before)
    FilesConnector.edit_lines("f", *place, expected, text)
    assert workspace.read_text("f") == after


def test_an_edit_of_what_has_changed_meanwhile_is_refused(workspace: Workspace):
    workspace.write_text("f", "a\nchanged\n")
    with pytest.raises(UsageError, match="not what was expected") as caught:
        FilesConnector.edit_lines("f", 2, 2, "b", "B")
    assert "changed" in caught.value.evidence
    for first, last in ((0, 1), (3, 3), (2, 0), (1, 9)):
        with pytest.raises(UsageError, match="no such lines"):
            FilesConnector.edit_lines("f", first, last, "", "x")
    assert workspace.read_text("f") == "a\nchanged\n"


def test_of_edits_at_once_none_is_lost(workspace: Workspace):
    import contextvars

    workspace.write_text("f", "".join(f"{n}\n" for n in range(20)))
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(FilesConnector.edit_lines, "f", n + 1, n + 1, str(n), f"new {n}"))
        for n in range(20)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert workspace.read_text("f") == "".join(f"new {n}\n" for n in range(20))


def test_a_private_file_is_told_before_it_is_opened(workspace: Workspace, book: Book):
    workspace.write_text("f", "secret\n")
    source = FileSource("payroll", "f", DataSensitivity.SECRET)
    assert FilesConnector.read(source).text == "secret\n"
    assert FilesConnector.tail(source).text == "secret\n"
    assert book.names == ["payroll", "payroll"]
    book.fails = True
    for act in (
        lambda: FilesConnector.read(source),
        lambda: FilesConnector.head(source),
        lambda: FilesConnector.tail(source),
    ):
        with pytest.raises(OSError, match="store is gone"):
            act()


def test_what_is_outside_stays_outside(workspace: Workspace):
    for act in (
        lambda: FilesConnector.read("/etc/passwd"),
        lambda: FilesConnector.tail("../x"),
        lambda: FilesConnector.write("../x", ""),
        lambda: FilesConnector.append("/tmp/x", ""),
        lambda: FilesConnector.edit_lines("../x", 1, 0, "", "x"),
        lambda: FilesConnector.list(".."),
    ):
        with pytest.raises(PathRefused):
            act()


def test_outside_of_a_request_there_are_no_files():
    for act in (lambda: FilesConnector.read("a"), lambda: FilesConnector.write("a", ""), FilesConnector.find):
        with pytest.raises(UsageError, match="whose workspace"):
            act()


def test_what_cannot_be_is_refused(workspace: Workspace):
    workspace.write_bytes("bin", b"\0\1")
    workspace.write_bytes("large", b"x" * (MAX_WRITTEN + 1))
    with pytest.raises(UsageError, match="no text"):
        FilesConnector.edit_lines("bin", 1, 0, "", "x")
    with pytest.raises(UsageError, match="too large"):
        FilesConnector.edit_lines("large", 1, 0, "", "x")
    with pytest.raises(UsageError, match="too much"):
        FilesConnector.write("a", "x" * (MAX_WRITTEN + 1))
    with pytest.raises(UsageError, match="half a character"):
        FilesConnector.append("a", "\ud800")
    for offset, limit in ((0, 1), (1, 0), (1, 10**9)):
        with pytest.raises(UsageError, match="must be from"):
            FilesConnector.read("bin", offset, limit)
    with pytest.raises(WorkspaceError, match="not found"):
        FilesConnector.read("none")


@pytest.mark.parametrize(
    ("path", "pattern", "fit"),
    [("a.py", "*.py", True), ("b/a.py", "*.py", True), ("b/a.py", "b/*.py", True), ("b/c/a.py", "b/*.py", False), ("b/c/a.py", "b/**/*.py", True),
     ("b/a.py", "b/**/*.py", True), ("a", "**", True), ("x/y/z", "**", True), ("x/y/z", "x/**", True), ("x", "y/**", False),
     ("a.py", "/workspace/a.py", True), ("b/a.py", "/workspace/b/a.py", True), ("A.py", "a.py", False), ("a[1].py", "a[[]1].py", True)],
)  # fmt: skip
def test_patterns_mean_what_people_expect(path: str, pattern: str, fit: bool):
    assert fits(path, pattern) is fit


def test_no_pattern_takes_for_ever():
    assert not fits("/".join(["a" * 50] * 40), "/".join(["**", "*a*a*a*a*a*b"] * 15))


def test_lines_are_found_with_their_place(workspace: Workspace):
    workspace.write_text("a/one.txt", "first\nSecond line\n")
    workspace.write_text("two.txt", "second\n")
    workspace.write_bytes("three.bin", b"second\0second\n")
    found = search(workspace, "**", "second", ignore_case=True, limit=10)
    assert found.matches == (FoundLine("a/one.txt", 2, "Second line"), FoundLine("two.txt", 1, "second"))
    assert not found.more
    assert search(workspace, "*.bin", "", ignore_case=False, limit=10).matches == (FoundLine("three.bin", 0, ""),)


def test_links_are_not_followed(workspace: Workspace):
    from pathlib import Path

    workspace.write_text("a/f", "x")
    Path(workspace.host_path("loop")).symlink_to("a")
    Path(workspace.host_path("out")).symlink_to("/etc/passwd")
    assert [match.path for match in search(workspace, "**", "", ignore_case=False, limit=10).matches] == ["a/f"]


def test_a_search_ends_at_its_bounds_and_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    for number in range(5):
        workspace.write_text(f"f{number}", "x\n" * 10)
    assert search(workspace, "**", "x", ignore_case=False, limit=3).more
    assert len(search(workspace, "**", "x", ignore_case=False, limit=3).matches) == 3
    assert not search(workspace, "**", "x", ignore_case=False, limit=50).more
    monkeypatch.setattr(files, "MAX_BYTES", 25)
    assert search(workspace, "**", "x", ignore_case=False, limit=50).more
    monkeypatch.setattr(files, "MAX_ENTRIES", 2)
    assert search(workspace, "**", "", ignore_case=False, limit=50).more


@pytest.mark.parametrize(("pattern", "text"), [("", "x"), ("x" * 300, ""), ("*", "x" * 300), ("*", "a\nb")])
def test_what_cannot_be_searched_for_is_refused(workspace: Workspace, pattern: str, text: str):
    with pytest.raises(UsageError, match="a search is for one line"):
        search(workspace, pattern, text, ignore_case=False, limit=1)
