""" """

import sys
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.fetcher import at_hand, find_fetcher, pieces_of
from bascule.sandbox.prepare.package import Package
from support.packages import command, install, tools

NPM = Package("npm", ("server",), None, ())
PYTHON = Package("python", ("server",), "server", (), "uvx")


def fake_python(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)
    return path


def test_npm_is_run_by_node_and_both_by_their_real_paths(tmp_path: Path):
    path = tools(tmp_path / "bin")

    found = find_fetcher(NPM, command("npx", "server", path=path), Path(sys.executable))

    assert found.tool == "npm"
    assert found.command == (f"{tmp_path}/bin/node", f"{tmp_path}/lib/npm/bin/npm-cli.js")
    assert found.needed == (f"{tmp_path}/bin/node",)
    assert found.fetched_with == (f"{tmp_path}/lib/npm",)


def test_what_lies_beside_the_program_is_taken_before_what_is_on_the_path(tmp_path: Path):
    own, other = tools(tmp_path / "own/bin"), tools(tmp_path / "other/bin")

    found = find_fetcher(NPM, command(f"{own}/npx", "server", path=other), Path(sys.executable))

    assert found.interpreter == f"{own}/node"


def test_another_version_of_the_interpreter_has_another_identity(tmp_path: Path):
    path = tools(tmp_path / "bin")
    before = find_fetcher(NPM, command("npx", path=path), Path(sys.executable)).identity
    (tmp_path / "bin/node").write_bytes(b"\x7fELF another node")

    assert find_fetcher(NPM, command("npx", path=path), Path(sys.executable)).identity != before


def test_without_npm_nothing_can_be_fetched(tmp_path: Path):
    with pytest.raises(SandboxError, match="node is not installed"):
        find_fetcher(NPM, command("npx", path=str(tmp_path)), Path(sys.executable))


@pytest.mark.parametrize("name", ["node", "npm"])
def test_a_script_that_looks_for_the_real_one_elsewhere_is_told(tmp_path: Path, name: str):
    path = tools(tmp_path / "bin")
    shim = tmp_path / "bin" / name
    shim.unlink()
    shim.write_text("#!/usr/bin/env bash\n")
    shim.chmod(0o755)

    with pytest.raises(SandboxError, match="only stands for"):
        find_fetcher(NPM, command("npx", path=path), Path(sys.executable))


def test_uv_fetches_where_it_is_and_pip_where_it_is_not(tmp_path: Path):
    python = fake_python(tmp_path / "prefix/bin/python3.11")
    fake_python(tmp_path / "uv/uv")

    with_uv = find_fetcher(PYTHON, command("uvx", "server", path=str(tmp_path / "uv")), python)
    without = find_fetcher(PYTHON, command("uvx", "server", path=str(tmp_path)), python)
    pipx = find_fetcher(Package("python", ("s",), "s", (), "pipx"), command("pipx", path=str(tmp_path / "uv")), python)

    assert (with_uv.tool, with_uv.command, with_uv.fetched_with) == (
        "uv",
        (f"{tmp_path}/uv/uv",),
        (f"{tmp_path}/uv/uv",),
    )
    assert (without.tool, without.command) == ("pip", (str(python),))
    assert pipx.tool == "pip"
    assert with_uv.interpreter == without.interpreter == str(python)


@pytest.mark.parametrize("asked", ["3.12", "python3.12", "3.12.4"])
@pytest.mark.parametrize("place", [".pyenv/versions/3.12.4/bin", ".local/share/uv/python/cpython-3.12.4-linux-x/bin"])
def test_the_interpreter_that_is_asked_for_is_found_where_such_are_kept(tmp_path: Path, asked: str, place: str):
    wanted = fake_python(tmp_path / place / "python3.12")
    package = Package("python", ("s",), "s", (), "uvx", (), asked)

    assert find_fetcher(package, command("uvx", path="", HOME=str(tmp_path)), Path("/none")).interpreter == str(wanted)


def test_an_interpreter_may_be_asked_for_by_its_path_or_be_on_the_path(tmp_path: Path):
    wanted = fake_python(tmp_path / "bin/python3.12")

    for asked in (str(wanted), "3.12"):
        package = Package("python", ("s",), "s", (), "uvx", (), asked)
        assert find_fetcher(package, command("uvx", path=str(wanted.parent)), Path("/none")).interpreter == str(wanted)


def test_an_interpreter_that_is_not_there_is_not_downloaded_but_told(tmp_path: Path):
    package = Package("python", ("s",), "s", (), "uvx", (), "3.99")

    with pytest.raises(SandboxError, match=r"no Python 3\.99"):
        find_fetcher(package, command("uvx", path=str(tmp_path)), Path("/none"))


def test_of_an_interpreter_no_more_is_shown_than_itself_and_its_library(tmp_path: Path):
    python = fake_python(tmp_path / "bin/python3.11")
    for name in ("lib", "private"):
        (tmp_path / name).mkdir()

    assert pieces_of(python) == (str(python), str(tmp_path / "lib"))


@pytest.mark.parametrize(
    ("spec", "binary", "runner", "expected"),
    [
        ("server", None, "npx", True),
        ("other", None, "npx", False),
        ("server@1.0", None, "npx", False),
        ("@scope/server", None, "npx", False),
        ("server", "server", "npx", False),
        ("server", None, "pnpm", False),
    ],
)
def test_npx_runs_what_the_project_has_before_it_fetches(
    tmp_path: Path, spec: str, binary: str | None, runner: str, expected: bool
):
    install(tmp_path)
    (tmp_path / "below").mkdir()
    package = Package("npm", (spec,), binary, (), runner)

    assert at_hand(package, command("npx", path="", cwd=str(tmp_path / "below"))) is expected


def test_without_a_folder_there_is_no_project(tmp_path: Path):
    assert not at_hand(Package("npm", ("server",), None, ()), command("npx", path=""))
