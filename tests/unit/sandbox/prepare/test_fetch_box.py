import os
import sys
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.prepare.fetch_box import BOUNDS, Place, fetching
from bascule.sandbox.prepare.fetcher import Fetcher, Tool
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.package_registries import Registries
from bascule.sandbox.spec.box import HOME, INSIDE, Box, Mount

TOOL = Fetcher("npm", ("/opt/tool/bin/it",), "/opt/node/bin/node", ("/opt/node/bin/node",), ("/opt/tool",), "x")
NPM = Package("npm", ("server",), None, ("/data/of/the/server",), "npx", ("--registry=https://r.test",))
PYTHON = Package("python", ("server", "extra"), "server", (), "uvx")


def boxes(
    package: Package, tool: Tool, registries: Registries | None = None, home: str = "/home/u", config: str = "/no"
) -> tuple[Box, ...]:
    machine = Machine(home, home, "/state", os.path.realpath(sys.executable), config=(config,))
    place = Place("box", "/state/k.partial/tree", "/state/k/tree", machine)
    fetcher = Fetcher(tool, TOOL.command, TOOL.interpreter, TOOL.needed, TOOL.fetched_with, "x")
    return fetching(package, fetcher, registries or Registries(), place)


def own(box: Box) -> list[str]:
    """What is shown beside the system, ourselves and our Python."""
    python = os.path.realpath(sys.base_prefix)
    return [each.target for each in box.mounts if each.why not in {"system", "ours"} and each.target != python]


def test_npm_installs_into_the_layer_with_what_was_settled_on_its_command_line():
    (box,) = boxes(NPM, "npm", Registries(options=("--@s:registry=https://s.test",)))

    assert box.lane is Lane.OPEN
    assert box.argv[:2] == ("/opt/tool/bin/it", "install")
    assert "--prefix=/state/k/tree" in box.argv
    assert box.argv[-4:] == ("--@s:registry=https://s.test", "--registry=https://r.test", "--", "server")
    assert not any("/data" in word for word in box.argv)


def test_uv_makes_an_environment_without_a_network_and_then_installs():
    first, second = boxes(PYTHON, "uv")

    assert first.lane is Lane.SEALED
    assert first.argv == ("/opt/tool/bin/it", "venv", "--python", "/opt/node/bin/node", "/state/k/tree/env")
    assert second.lane is Lane.OPEN
    assert second.argv[-3:] == ("--", "server", "extra")
    assert "--python=/state/k/tree/env/bin/python" in second.argv
    assert first.name != second.name


def test_pip_installs_into_the_environment_by_its_own_python():
    first, second = boxes(PYTHON, "pip")

    assert first.argv == ("/opt/node/bin/node", "-m", "venv", "/state/k/tree/env")
    assert second.argv[:4] == ("/state/k/tree/env/bin/python", "-m", "pip", "install")


def test_a_box_that_fetches_can_write_to_the_layer_alone():
    for several in (boxes(NPM, "npm"), boxes(PYTHON, "uv"), boxes(PYTHON, "pip")):
        for box in several:
            assert [mount for mount in box.mounts if mount.writable] == [
                Mount("/state/k.partial/tree", "/state/k/tree", writable=True, why="prepared")
            ]


def test_it_sees_the_system_the_programs_that_fetch_and_what_settings_name(tmp_path: Path):
    for name in ("certs", "index/simple", "index/files", "index/private"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "s.tgz").touch()
    package = Package("npm", (f"{tmp_path}/s.tgz",), None, (), "npx")
    named = Registries(paths=(f"{tmp_path}/certs", "/usr/share", f"{tmp_path}/index/simple", "/not/there"))

    (box,) = boxes(package, "npm", named)

    assert set(own(box)) == {
        "/opt/node/bin/node",
        "/opt/tool",
        *(f"{tmp_path}/{name}" for name in ("certs", "index/simple", "index/files", "s.tgz")),
        "/state/k/tree",
    }
    assert INSIDE in [mount.target for mount in box.mounts]
    assert "/etc/passwd" in box.files
    assert box.python


def test_a_folder_named_by_an_option_is_seen(tmp_path: Path):
    package = Package("python", ("s",), "s", (), "uvx", (f"--find-links={tmp_path}",))

    assert str(tmp_path) in own(boxes(package, "uv")[1])


@pytest.mark.parametrize("tool", ["npm", "uv", "pip"])
def test_it_sees_no_home_and_no_other_layer(tmp_path: Path, tool: Tool):
    for box in boxes(NPM if tool == "npm" else PYTHON, tool, home=str(tmp_path)):
        assert own(box) == ["/opt/tool", "/state/k/tree", "/opt/node/bin/node"]


def test_its_environment_is_its_own():
    (box,) = boxes(NPM, "npm", Registries(env={"HTTPS_PROXY": "http://p.test", "HOME": "/home/somebody"}))

    assert box.env["HOME"] == HOME
    assert box.env["HTTPS_PROXY"] == "http://p.test"
    assert box.env["PATH"].startswith("/opt/node/bin:")
    assert box.bounds == BOUNDS


def test_a_package_in_a_folder_of_the_host_is_fetched_without_the_secrets_there(tmp_path: Path):
    for name in ("package.json", ".env", "servers.json"):
        (tmp_path / name).touch()
    package = Package("npm", (str(tmp_path),), None, (), "npx")

    (box,) = boxes(package, "npm", config=f"{tmp_path}/servers.json")

    assert {mask.path for mask in box.masks} == {f"{tmp_path}/.env", f"{tmp_path}/servers.json"}
