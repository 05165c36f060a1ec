import pytest

from bascule.core.errors import UsageError
from bascule.kit.connectors import files
from bascule.kit.connectors.files import FoundLine, fits, search
from bascule.workspace import Workspace


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
