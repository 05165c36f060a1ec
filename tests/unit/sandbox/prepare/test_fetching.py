from bascule.core.sensitivity import Lane
from bascule.sandbox.boxes.box import HOME, Box, Mount
from bascule.sandbox.prepare.fetcher import Fetcher, Tool
from bascule.sandbox.prepare.fetching import BOUNDS, Place, covered, fetching
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.registries import Registries

SYSTEM = (Mount("/usr", "/usr", why="system"),)
PLACE = Place("box", "/state/k.partial/tree", "/state/k/tree", SYSTEM)
NPM = Package("npm", ("server",), None, ("/data/of/the/server",), "npx", ("--registry=https://r.test",))
PYTHON = Package("python", ("server", "extra"), "server", (), "uvx")


def fetcher(tool: Tool) -> Fetcher:
    return Fetcher(tool, ("/opt/tool/bin/it",), "/opt/node/bin/node", ("/opt/node/bin/node",), ("/opt/tool",), "x")


def boxes(package: Package, tool: Tool, registries: Registries | None = None) -> tuple[Box, ...]:
    return fetching(package, fetcher(tool), registries or Registries(), PLACE)


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


def test_it_sees_the_system_the_programs_that_fetch_and_what_settings_name():
    package = Package("npm", ("/packed/s.tgz",), None, (), "npx")
    (box,) = boxes(package, "npm", Registries(paths=("/certs/a.pem", "/usr/share/certs", "/srv/simple")))

    assert [mount.target for mount in box.mounts] == [
        "/usr",
        "/opt/node/bin/node",
        "/opt/tool",
        "/certs/a.pem",
        "/srv/simple",
        "/srv/files",
        "/srv/packages",
        "/packed/s.tgz",
        "/state/k/tree",
    ]


def test_a_folder_named_by_an_option_is_seen():
    package = Package("python", ("s",), "s", (), "uvx", ("--find-links=/srv/wheels",))

    assert "/srv/wheels" in [mount.target for mount in boxes(package, "uv")[1].mounts]


def test_its_environment_is_its_own():
    (box,) = boxes(NPM, "npm", Registries(env={"HTTPS_PROXY": "http://p.test", "HOME": "/home/somebody"}))

    assert box.env["HOME"] == HOME
    assert box.env["HTTPS_PROXY"] == "http://p.test"
    assert box.env["PATH"].startswith("/opt/node/bin:")
    assert box.bounds == BOUNDS


def test_what_lies_in_a_mount_is_covered():
    assert covered("/usr/lib/x", SYSTEM)
    assert not covered("/usrlocal", SYSTEM)
