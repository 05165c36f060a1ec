"""Programs, and what they need to start."""

import json
from pathlib import Path

import pytest

from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.programs import editable_projects, interpreters, prefix_of, show_program
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.spec.box import Link


def written(path: Path, text: str = "\x7fELF") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def nowhere(_: str) -> None:
    return None


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def view(tmp_path: Path, home: Path) -> View:
    return View(Machine(str(home), str(tmp_path), str(tmp_path / "state"), "/usr/bin/python3"))


def targets(view: View) -> set[str]:
    return {mount.target for mount in view.mounts}


def venv(folder: Path, base: Path) -> Path:
    """A virtual environment as the standard library makes it, from a Python installed elsewhere."""
    written(base / "bin/python3.12")
    (base / "lib").mkdir(exist_ok=True)
    written(folder / "pyvenv.cfg", f"home = {base}/bin\nversion = 3.12.1\n")
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/python").symlink_to(base / "bin/python3.12")
    return folder


def test_a_program_with_a_prefix_comes_with_it(view: View, home: Path) -> None:
    program = written(home / ".nvm/versions/v22/bin/node")
    (home / ".nvm/versions/v22/lib").mkdir()
    show_program(view, program, nowhere)
    assert targets(view) == {str(home / ".nvm/versions/v22")}


def test_a_program_without_one_comes_alone(view: View, home: Path) -> None:
    program = written(home / "tools/server")
    show_program(view, program, nowhere)
    assert targets(view) == {program}


@pytest.mark.parametrize("wide", [".local", "."])
def test_a_home_is_no_prefix(view: View, home: Path, wide: str) -> None:
    program = written(home / wide / "bin/server")
    (home / wide / "lib").mkdir()
    show_program(view, program, nowhere)
    assert targets(view) == {program}


def test_a_tool_behind_a_link_comes_with_link_environment_and_python(view: View, home: Path) -> None:
    tool = venv(home / ".local/share/uv/tools/timer", home / ".local/share/uv/python/cpython-3.12")
    written(tool / "bin/timer", f"#!{tool}/bin/python\n")
    (home / ".local/bin").mkdir(parents=True)
    link = home / ".local/bin/timer"
    link.symlink_to(tool / "bin/timer")

    show_program(view, str(link), nowhere)

    assert targets(view) == {str(tool), str(home / ".local/share/uv/python/cpython-3.12")}
    assert view.links == (Link(str(link), f"{tool}/bin/timer"),)


def test_a_python_behind_a_link_to_its_folder_is_found_through_it(view: View, home: Path) -> None:
    pythons = home / "pythons"
    tool = venv(home / "venv", pythons / "cpython-3.12.1")
    (pythons / "cpython-3.12").symlink_to("cpython-3.12.1")
    written(tool / "pyvenv.cfg", f"home = {pythons}/cpython-3.12/bin\n")
    show_program(view, str(tool / "bin/python"), nowhere)
    assert targets(view) == {str(home / "venv"), str(pythons / "cpython-3.12.1")}
    assert view.links == (Link(str(pythons / "cpython-3.12"), "cpython-3.12.1"),)


def test_projects_installed_as_they_lie_come_along(view: View, home: Path, tmp_path: Path) -> None:
    folder = venv(home / "venv", home / "python")
    packages = folder / "lib/python3.12/site-packages"
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    written(packages / "one.pth", f"{tmp_path}/one\nimport site\n")
    editable = {"url": f"file://{tmp_path}/two", "dir_info": {"editable": True}}
    written(packages / "two-1.dist-info/direct_url.json", json.dumps(editable))
    plain = {"url": f"file://{tmp_path}/three", "dir_info": {}}
    written(packages / "three-1.dist-info/direct_url.json", json.dumps(plain))
    written(packages / "four-1.dist-info/direct_url.json", "not JSON")
    assert set(editable_projects(str(folder))) == {f"{tmp_path}/one", f"{tmp_path}/two"}
    show_program(view, str(folder / "bin/python"), nowhere)
    assert targets(view) >= {f"{tmp_path}/one", f"{tmp_path}/two"}


def test_an_environment_whose_settings_cannot_be_read_is_shown_all_the_same(view: View, home: Path) -> None:
    program = written(home / "venv/bin/python")
    written(home / "venv/pyvenv.cfg", "= = =\n[")
    show_program(view, program, nowhere)
    assert targets(view) == {str(home / "venv")}


def test_shims_come_with_what_they_stand_for(view: View, home: Path) -> None:
    show_program(view, written(home / ".pyenv/shims/python3", "#!/usr/bin/env bash\n"), nowhere)
    assert targets(view) == {str(home / ".pyenv"), "/usr/bin/env"}


def test_what_uvx_starts_lies_beside_it(view: View, home: Path) -> None:
    uv = written(home / ".local/bin/uv")
    uvx = written(home / ".local/bin/uvx")
    show_program(view, uvx, nowhere)
    assert targets(view) == {uv, uvx}


def test_what_a_script_names_in_its_first_line_is_shown(view: View, home: Path) -> None:
    node = written(home / "node/bin/node")
    (home / "node/lib").mkdir()
    script = written(home / "pkg/node_modules/.bin/server", "#!/usr/bin/env -S node --no-warnings\n")
    show_program(view, script, {"node": node}.get)
    assert targets(view) == {"/usr/bin/env", str(home / "node"), str(home / "pkg/node_modules")}


def test_interpreters_are_read_from_the_first_lines(tmp_path: Path) -> None:
    def of(text: str) -> list[str]:
        return list(interpreters(written(tmp_path / "script", text), {"node": "/n/node"}.get))

    assert of("#!/opt/py/bin/python3 -I\nprint()") == ["/opt/py/bin/python3"]
    assert of("#!/usr/bin/env -S A=1 node -x\n") == ["/usr/bin/env", "/n/node"]
    assert of("#!/usr/bin/env gone\n") == ["/usr/bin/env"]
    assert of("#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n' '''\n") == ["/bin/sh", "/a b/python"]
    assert of("\x7fELF") == []
    assert list(interpreters(str(tmp_path / "missing"), nowhere)) == []


def test_a_circle_of_interpreters_is_left(view: View, home: Path) -> None:
    program = home / "tools/loop"
    show_program(view, written(program, f"#!{program}\n"), nowhere)
    assert targets(view) == {str(home / "tools")}


def test_a_folder_that_is_not_for_programs_is_no_prefix(tmp_path: Path) -> None:
    (tmp_path / "a/lib").mkdir(parents=True)
    assert prefix_of(str(tmp_path / "a/build/server")) is None
    assert prefix_of(str(tmp_path / "a/bin/server")) == str(tmp_path / "a")
    assert prefix_of(str(tmp_path / "bin/server")) is None
