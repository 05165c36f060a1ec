"""Scripts, and the projects they are of."""

from pathlib import Path

import pytest

from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.projects import is_script, project_of, show_project
from bascule.sandbox.mounts.visible_paths import View


def written(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.fixture
def view(tmp_path: Path) -> View:
    return View(Machine(str(tmp_path / "home"), str(tmp_path), str(tmp_path / "state"), "/usr/bin/python3"))


def targets(view: View) -> list[str]:
    return [mount.target for mount in view.mounts]


@pytest.mark.parametrize("mark", ["package.json", "pyproject.toml", "setup.py", ".git/HEAD", "node_modules/a/x.js"])
def test_the_nearest_folder_with_a_mark_is_the_project(tmp_path: Path, mark: str) -> None:
    script = written(tmp_path / "p/build/index.js")
    written(tmp_path / "p" / mark)
    assert project_of(script) == str(tmp_path / "p")


def test_a_project_among_several_comes_with_the_others(tmp_path: Path) -> None:
    script = written(tmp_path / "mono/packages/a/index.js")
    written(tmp_path / "mono/packages/a/package.json", "{}")
    written(tmp_path / "mono/package.json", '{"workspaces": ["packages/*"]}')
    assert project_of(script) == str(tmp_path / "mono")
    written(tmp_path / "mono/package.json", "{}")
    assert project_of(script) == str(tmp_path / "mono/packages/a")
    written(tmp_path / "mono/pnpm-workspace.yaml")
    assert project_of(script) == str(tmp_path / "mono")


def test_a_package_comes_with_those_beside_it(tmp_path: Path, view: View) -> None:
    script = written(tmp_path / "home/node_modules/server/node_modules/cli/x.js")
    written(tmp_path / "home/node_modules/server/package.json", "{}")
    assert project_of(script) == str(tmp_path / "home/node_modules")
    show_project(view, script)
    assert targets(view) == [str(tmp_path / "home/node_modules")]


def test_packages_above_the_project_are_shown(tmp_path: Path, view: View) -> None:
    script = written(tmp_path / "top/p/index.js")
    written(tmp_path / "top/p/package.json", "{}")
    written(tmp_path / "top/node_modules/dep/index.js")
    show_project(view, script)
    assert targets(view) == [str(tmp_path / "top/node_modules"), str(tmp_path / "top/p")]


def test_without_a_project_the_folder_is_shown(tmp_path: Path, view: View) -> None:
    show_project(view, written(tmp_path / "tools/server.py"))
    assert targets(view) == [str(tmp_path / "tools")]


@pytest.mark.parametrize("folder", ["home", "home/Downloads", "home/.local/bin"])
def test_in_a_folder_of_many_things_the_script_alone_is_shown(tmp_path: Path, view: View, folder: str) -> None:
    script = written(tmp_path / folder / "server.py")
    written(tmp_path / "home/package.json", "{}")
    show_project(view, script)
    assert targets(view) == [script]


def test_a_script_is_known_by_its_name_or_its_first_line(tmp_path: Path) -> None:
    assert is_script(written(tmp_path / "a.mjs"))
    assert is_script(written(tmp_path / "b", "#!/bin/sh\n"))
    assert not is_script(written(tmp_path / "c", "\x7fELF"))
    assert not is_script(str(tmp_path / "missing"))
