"""Layouts of sandboxes, and paths in command lines."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.layout import Shown, is_interpreter, laid_out, paths_in, scripts_in, shown
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import PROXY_FOLDER, Box, Mount
from bascule.sandbox.spec.launch_request import Order

PATH = "/usr/bin:/bin"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("home", "here", "state"):
        (tmp_path / name).mkdir()
    python = os.path.realpath(sys.executable)
    return Machine(str(tmp_path / "home"), str(tmp_path / "here"), str(tmp_path / "state"), python)


def order(
    *argv: str, cwd: str | None = None, env: Mapping[str, str] | None = None, lane: Lane = Lane.SEALED, **more: Any
) -> Order:
    command = Command(argv, {"PATH": PATH, **(env or {})}, cwd)
    settings = more.pop("settings", Sandbox())
    return Order("files", lane, Principal("u", "s"), command, settings, **more)


def own(box: Box) -> dict[str, Mount]:
    """What is shown beside the system, ourselves and our Python."""
    ours = os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)
    kept = (mount for mount in box.mounts if mount.why not in {"system", "ours"} and mount.target not in ours)
    return {mount.target: mount for mount in kept}


def test_a_program_of_the_system_needs_nothing_more(machine: Machine) -> None:
    box = laid_out(order("env"), machine, "b")
    assert own(box) == {}
    assert box.argv == ("/usr/bin/env",)
    assert box.cwd == "/home/box"


def test_what_is_missing_is_told_as_for_any_command(machine: Machine) -> None:
    with pytest.raises(SandboxError, match="command not found"):
        laid_out(order("no-such-server"), machine, "b")
    with pytest.raises(SandboxError, match="does not exist"):
        laid_out(order("env", cwd="/no/such/folder"), machine, "b")


def test_our_own_python_and_first_program_are_there(machine: Machine) -> None:
    box = laid_out(order("env"), machine, "b")
    assert box.python == machine.python
    assert any(Path(box.python).is_relative_to(mount.target) for mount in box.mounts)
    assert any(mount.target == "/run/bascule/inside" for mount in box.mounts)


def test_paths_in_arguments_are_shown_to_be_read(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "settings.json").touch()
    box = laid_out(order("env", str(tmp_path / "data"), f"--config={tmp_path}/settings.json"), machine, "b")
    assert set(own(box)) == {str(tmp_path / "data"), str(tmp_path / "settings.json")}
    assert not any(mount.writable for mount in own(box).values())


def test_a_script_comes_with_its_project_and_its_folder_is_the_servers(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "here/build").mkdir()
    (tmp_path / "here/package.json").write_text("{}")
    (tmp_path / "here/build/index.js").touch()
    box = laid_out(order("sh", "build/index.js"), machine, "b")
    assert own(box)[str(tmp_path / "here")].why == "program"
    assert box.cwd == str(tmp_path / "here")
    assert box.argv[1:] == ("build/index.js",)


def test_the_working_directory_is_shown_and_kept(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    box = laid_out(order("env", cwd=str(tmp_path / "p"), workspace=str(tmp_path / "here")), machine, "b")
    assert box.cwd == str(tmp_path / "p")
    assert own(box)["/workspace"] == Mount(str(tmp_path / "here"), "/workspace", writable=True, why="workspace")


def test_a_home_as_working_directory_is_not_shown(machine: Machine, tmp_path: Path) -> None:
    box = laid_out(order("env", cwd=machine.home), machine, "b")
    assert own(box) == {}
    assert box.cwd == "/home/box"
    assert [line.mode for line in shown(box)[-1:]] == ["no"]


def test_a_workspace_is_where_a_server_starts_that_has_no_folder(machine: Machine, tmp_path: Path) -> None:
    assert laid_out(order("env", workspace=str(tmp_path / "here")), machine, "b").cwd == "/workspace"


def test_named_mounts_replace_those_found_but_not_the_program(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "home/notes").mkdir()
    (tmp_path / "here/server.py").touch()
    settings = Sandbox(mounts=(HostPath("~/notes", "rw"),))
    box = laid_out(order("sh", "server.py", str(tmp_path / "data"), settings=settings), machine, "b")
    assert set(own(box)) == {str(tmp_path / "here"), str(tmp_path / "home/notes")}
    assert own(box)[str(tmp_path / "home/notes")].writable


def test_a_named_mount_that_cannot_be_is_an_error(machine: Machine, tmp_path: Path) -> None:
    for path in ("/no/such/thing", "/", str(tmp_path / "state"), "/run/bascule/x"):
        with pytest.raises(SandboxError):
            laid_out(order("env", settings=Sandbox(mounts=(HostPath(path),))), machine, "b")


def test_our_state_is_seen_by_nobody(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "state/keys").mkdir()
    box = laid_out(order("env", str(tmp_path), str(tmp_path / "state/keys")), machine, "b")
    assert set(own(box)) == set()  # the folder is around the home
    settings = Sandbox(mounts=(HostPath(str(tmp_path)),))
    assert [mask.path for mask in laid_out(order("env", settings=settings), machine, "b").masks] == [
        str(tmp_path / "state")
    ]


def test_the_environment_is_the_command_s_but_for_what_a_box_changes(machine: Machine) -> None:
    env = {"TOKEN": "t", "HOME": "/home/me", "TMPDIR": "/var/tmp"}
    box = laid_out(order("env", env=env, lane=Lane.OPEN), machine, "b")
    assert box.env == {"PATH": PATH, "TOKEN": "t", "HOME": "/home/box", "TMPDIR": "/tmp", "BASCULE_LANE": "open"}


def test_a_box_with_a_proxy_is_led_to_it(machine: Machine) -> None:
    box = laid_out(order("env", lane=Lane.PROXIED, sockets={PROXY_FOLDER: "/run/x/egress"}), machine, "b")
    assert box.proxied
    assert box.env["HTTPS_PROXY"] == box.env["http_proxy"] == "http://127.0.0.1:3128"
    assert "127.0.0.1" in box.env["NO_PROXY"]
    assert Mount("/run/x/egress", PROXY_FOLDER, why="ours") in box.mounts


def test_a_box_without_one_is_not(machine: Machine) -> None:
    for lane, sockets in ((Lane.PROXIED, {}), (Lane.SEALED, {PROXY_FOLDER: "/run/x/egress"})):
        box = laid_out(order("env", lane=lane, sockets=sockets), machine, "b")
        assert not box.proxied
        assert "HTTP_PROXY" not in box.env


def test_an_image_has_its_own_system_and_program(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    box = laid_out(order("server", str(tmp_path / "data"), settings=Sandbox(image="img")), machine, "b")
    assert (box.image, box.argv[0], box.python, box.files) == ("img", "server", "", {})
    assert {mount.target for mount in box.mounts} == {str(tmp_path / "data"), "/run/bascule/inside"}


def test_files_that_are_made_are_not_replaced_by_this_machine_s(machine: Machine) -> None:
    box = laid_out(order("env", "/etc/passwd"), machine, "b")
    assert "/etc/passwd" not in {mount.target for mount in box.mounts}


def test_a_venv_in_the_project_brings_its_python(machine: Machine, tmp_path: Path) -> None:
    base = tmp_path / "python"
    for folder in (base / "bin", base / "lib", tmp_path / "here/.venv/bin"):
        folder.mkdir(parents=True)
    (tmp_path / "here/.venv/pyvenv.cfg").write_text(f"home = {base}/bin\n")
    (tmp_path / "here/pyproject.toml").touch()
    (tmp_path / "here/server.py").touch()
    assert set(own(laid_out(order("sh", "server.py"), machine, "b"))) == {str(tmp_path / "here"), str(base)}
    assert set(own(laid_out(order("env", str(tmp_path / "here")), machine, "b"))) == {str(tmp_path / "here"), str(base)}


def test_a_command_behind_env_is_looked_at(machine: Machine, tmp_path: Path) -> None:
    tool = tmp_path / "home/.local/bin/server"
    tool.parent.mkdir(parents=True)
    tool.touch(mode=0o755)
    path = {"PATH": f"{tool.parent}:{PATH}"}
    assert set(own(laid_out(order("env", "A=1", "server", env=path), machine, "b"))) == {str(tool)}


def test_folders_of_code_in_the_environment_are_shown(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    box = laid_out(order("env", env={"PYTHONPATH": f"{tmp_path}/lib:{machine.home}"}), machine, "b")
    assert set(own(box)) == {str(tmp_path / "lib")}


def test_layers_that_were_prepared_are_mounted(machine: Machine) -> None:
    layer = Mount("/layers/x", "/opt/prepared", why="prepared")
    assert layer in laid_out(order("env", mounts=(layer,)), machine, "b").mounts


def test_a_person_is_told_what_is_mounted_beside_the_system(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    lines = shown(laid_out(order("env", str(tmp_path / "data"), "/tmp"), machine, "b"))
    assert Shown(str(tmp_path / "data"), "ro", "argument") in lines
    assert lines[-1].path == "/tmp"
    assert lines[-1].mode == "no"
    assert not any(line.path == "/usr" for line in lines)


def test_a_prepared_program_is_not_asked_what_else_is_to_be_shown(machine: Machine, tmp_path: Path) -> None:
    tree = Path(machine.state) / "prepared/key/tree"
    secret = tmp_path / "home/documents/bin/secret"
    for folder in (tree / "env/bin", tree / "env/lib/python3.11/site-packages", secret.parent):
        folder.mkdir(parents=True)
    secret.write_text("private")
    program = tree / "env/bin/server"
    program.write_text(f"#!{secret}\n'''exec' \"{secret}\" \"$0\" \n")
    program.chmod(0o755)
    (tree / "env/pyvenv.cfg").write_text(f"home = {secret.parent}")
    (tree / "env/lib/python3.11/site-packages/x.pth").write_text(str(secret.parent))

    # Where it is seen inside may be where it lies, or another path that is not there outside.
    for seen in (str(tree), "/run/bascule/prepared/key"):
        layer = Mount(str(tree), seen, why="prepared")
        box = laid_out(order(f"{seen}/env/bin/server", "--flag", mounts=(layer,)), machine, "b")

        assert own(box) == {seen: layer}
        assert box.argv == (f"{seen}/env/bin/server", "--flag")


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
