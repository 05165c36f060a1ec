"""What the words of a command name."""

from pathlib import Path

from bascule.sandbox.mounts.layout import is_interpreter, paths_in, scripts_in


def test_paths_that_are_there_are_found_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    words = [
        "--root",
        f"{tmp_path}/data",
        f"--db={tmp_path}/data",
        "data",
        "./data/../data",
        "missing",
        "/no/such",
        "-y",
    ]
    assert [part for part, _ in paths_in(words, str(tmp_path))] == [
        f"{tmp_path}/data",
        f"{tmp_path}/data",
        "data",
        "./data/../data",
    ]
    assert {whole for _, whole in paths_in(words, str(tmp_path))} == {f"{tmp_path}/data"}


def test_words_that_can_be_no_path_are_passed_over(tmp_path: Path) -> None:
    assert list(paths_in(["", "a\0b", "x" * 5000, "x" * 300, "--", "=", "https://a.test/"], str(tmp_path))) == []


def test_the_first_file_is_the_script_and_so_is_all_other_code(tmp_path: Path) -> None:
    for name in ("server", "hook.js", "index.js", "data.csv"):
        (tmp_path / name).touch()
    found = scripts_in("/usr/bin/node", ["--require", "hook.js", "index.js", "data.csv"], str(tmp_path))
    assert found == [f"{tmp_path}/hook.js", f"{tmp_path}/index.js"]
    assert scripts_in("/bin/sh", ["server", "data.csv"], str(tmp_path)) == [f"{tmp_path}/server"]
    assert scripts_in("/opt/server", ["index.js"], str(tmp_path)) == []


def test_interpreters_are_known_by_name() -> None:
    assert all(map(is_interpreter, ["/usr/bin/python3.12", "node", "bash", "sh", "uv", "/x/pypy3", "deno", "tsx"]))
    assert not any(map(is_interpreter, ["mcp-server-time", "nodemon", "pythonic", "push"]))
