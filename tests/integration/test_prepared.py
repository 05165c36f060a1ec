"""Real packages, fetched once from their registries by npm, uv and pip, start in boxes that have no network."""

import asyncio
import json
import os
import shutil
import signal
import sys
import zipfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.api import Engine as ContainerEngine
from bascule.sandbox.prepare.layer import Layer
from bascule.sandbox.prepare.prepare import FOLDER, Preparing
from bascule.sandbox.prepare.provision import with_layer
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended, Engine, EngineBox
from bascule.sandbox.spec.launch_request import Order
from support import docker
from support.boxes import bubblewrap
from support.docker_boxes import docker_boxes, said
from support.fetched import path_with_uv
from support.fetched import shelf as shelf  # noqa: PLC0414 -- a fixture
from support.packages import mode, packed

ROOT = Path(__file__).parents[2]
SECRET = "canary-of-somebody"

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with bubblewrap(tmp_path / "state-of-boxes") as made:
        yield made


def asked(*argv: str, **env: str) -> Command:
    return Command(argv, {"PATH": path_with_uv(), "HOME": os.environ["HOME"], **env})


async def tools_of(engine: Engine, layer: Layer | None, command: Command, lane: Lane) -> set[str]:
    """What a server lists that is started from its layer."""
    assert layer is not None
    async with started(engine, with_layer(ordered(command, lane), layer)) as process:
        assert process.stdin is not None
        for message in HELLO:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        return {tool["name"] for tool in (await answer(process, 2))["tools"]}


def ordered(command: Command, lane: Lane = Lane.SEALED) -> Order:
    return Order("peer", lane, Principal("u", "s"), command, Sandbox())


@asynccontextmanager
async def started(engine: Engine, order: Order) -> AsyncGenerator[asyncio.subprocess.Process]:
    box = engine.box(order)
    start = await box.open()
    assert isinstance(start, Command)
    process = await asyncio.create_subprocess_exec(
        *start.argv,
        env=dict(start.env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**24,
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        await box.close()
        await process.wait()


HELLO: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


async def answer(process: asyncio.subprocess.Process, number: int) -> dict[str, Any]:
    assert process.stdout is not None
    said: list[str] = []
    while line := await process.stdout.readline():
        said.append(line.decode(errors="replace"))
        if line.startswith(b"{") and (reply := json.loads(line)).get("id") == number:
            return reply["result"]
    pytest.fail("the server ended:\n" + "".join(said))


SERVERS = (
    (("npx", "-y", "@modelcontextprotocol/server-everything", "stdio"), "echo"),
    (("npx", "-y", "@modelcontextprotocol/server-filesystem", "/usr/share"), "read_text_file"),
    (("uvx", "mcp-server-time", "--local-timezone=UTC"), "get_current_time"),
)


class Watched:
    """An engine that counts what it runs to its end. One that may run nothing fails the test."""

    kind = "watched"

    def __init__(self, engine: Engine, *, may: bool = True, network: bool = True) -> None:
        self._engine = engine
        self._may = may
        self._network = network
        self.ran = 0

    def box(self, order: Order) -> EngineBox:
        return self._engine.box(order)

    async def run(self, box: Box, timeout: float) -> Ended:
        if not self._may:
            pytest.fail(f"something is fetched again: {box.argv}")
        self.ran += 1
        return await self._engine.run(box if self._network else replace(box, lane=Lane.SEALED), timeout)


@pytest.mark.long
@pytest.mark.parametrize(("argv", "tool"), SERVERS, ids=["everything", "filesystem", "time"])
async def test_a_server_that_was_fetched_once_starts_sealed(
    engine: Engine, shelf: Path, argv: tuple[str, ...], tool: str
):
    command = asked(*argv)
    layer = await Preparing(shelf, engine).prepared(command)
    assert tool in await tools_of(engine, layer, command, Lane.SEALED)

    # From now on nothing more is fetched, in no lane.
    again = await Preparing(shelf, Watched(engine, may=False)).prepared(command)
    assert again == layer
    assert tool in await tools_of(engine, again, command, Lane.OPEN)


@pytest.mark.long
async def test_pip_fetches_where_there_is_no_uv(engine: Engine, tmp_path: Path):
    wheel = str(python_package(tmp_path))
    command = asked("pipx", "run", "--spec", wheel, "little-server", PATH="/usr/bin:/bin")

    layer = await Preparing(tmp_path / "state", engine).prepared(command)

    assert layer is not None
    async with started(engine, with_layer(ordered(command), layer)) as process:
        assert (await process.communicate())[0].decode() == "little server iniconfig\n"


@pytest.mark.long
async def test_a_layer_is_made_and_started_from_in_containers_too(tmp_path: Path):
    command = asked("npx", "-y", str(npm_package(tmp_path, "console.log('installed')")))
    with docker.reached() as daemon:
        await check_in_containers(tmp_path, command, daemon)


async def check_in_containers(tmp_path: Path, command: Command, daemon: docker.DockerEngine) -> None:
    async with docker_boxes(tmp_path, daemon.host) as engine:
        # The engine of the tests has no network for containers, and this package needs none.
        layer = await Preparing(tmp_path / "state", Watched(engine, network=False)).prepared(command)
        assert layer is not None
        run = await engine.box(with_layer(ordered(command), layer)).open()

        assert await said(ContainerEngine(str(daemon.socket)), run) == "hello"


def python_package(folder: Path) -> Path:
    """A wheel, made by hand: it is an archive with three small files of description. What it needs is in the registry."""
    path = folder / "little-1.0-py3-none-any.whl"
    described = {
        "little.py": "import iniconfig\n\ndef main():\n    print('little server', iniconfig.__name__)\n",
        "little-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: little\nVersion: 1.0\nRequires-Dist: iniconfig\n",
        "little-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "little-1.0.dist-info/entry_points.txt": "[console_scripts]\nlittle-server = little:main\n",
        "little-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in described.items():
            archive.writestr(name, text)
    return path


def npm_package(folder: Path, install: str = "", name: str = "little") -> Path:
    """A package that says hello when it is run, and runs something when it is installed."""
    description: Mapping[str, object] = {
        "name": name,
        "version": "1.0.0",
        "bin": {name: "index.js"},
        "scripts": {"postinstall": "node install.js"} if install else {},
    }
    files = {"index.js": "#!/usr/bin/env node\nconsole.log('hello')\n", "install.js": install}
    return packed(folder / f"{name}.tgz", description, files)


@pytest.mark.parametrize(
    "argv",
    [("npx", "-y", "@modelcontextprotocol/no-such-server-anywhere"), ("uvx", "mcp-server-time==0.0.0.1")],
    ids=["npm", "uv"],
)
@pytest.mark.long
async def test_a_package_that_does_not_exist_is_told_in_the_tool_s_own_words(
    engine: Engine, tmp_path: Path, argv: tuple[str, ...]
):
    with pytest.raises(SandboxError, match="could not be fetched") as caught:
        await Preparing(tmp_path / "state", engine).prepared(asked(*argv))

    assert "no such package" in caught.value.cause
    assert argv[-1].split("=")[0].rpartition("/")[2] in caught.value.evidence
    assert left(tmp_path / "state") == []


def left(state: Path) -> list[str]:
    return sorted(path.name for path in (state / FOLDER).iterdir() if path.suffix != ".lock")


@pytest.mark.long
async def test_without_a_network_it_is_told_that_the_registry_cannot_be_reached(engine: Engine, tmp_path: Path):
    command = asked("uvx", "mcp-server-time", UV_HTTP_RETRIES="0")

    with pytest.raises(SandboxError, match="could not be fetched") as caught:
        await Preparing(tmp_path / "state", Watched(engine, network=False)).prepared(command)

    assert "cannot be reached" in caught.value.cause


NOSY = """
const fs = require('fs'), path = require('path');
const found = {env: process.env, seen: [], written: []};
const tried = (name, text) => { try { fs.writeFileSync(name, text); found.written.push(name) } catch (error) {} };
for (const place of PLACES) {
    try { found.seen.push([place, fs.readdirSync(place)]) } catch (error) {}
    try { found.seen.push([place, [fs.readFileSync(place, 'utf8')]]) } catch (error) {}
}
for (const place of PLACES) { tried(place, 'evil'); tried(path.join(place, 'evil'), 'evil') }
for (const place of ['/', '/usr/bin', '/etc', '/run/bascule', '/run/bascule/inside', '/proc/1/root'])
    tried(path.join(place, 'evil'), 'evil');
fs.writeFileSync('report.json', JSON.stringify(found));
try { fs.symlinkSync(PLACES[0], 'link-out') } catch (error) {}
try { fs.linkSync('/etc/passwd', 'hard-link-out') } catch (error) { found.linked = String(error) }
"""


@pytest.mark.long
async def test_what_a_package_runs_while_it_is_installed_finds_nothing_and_changes_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, workspace, state = tmp_path / "home", tmp_path / "workspace", tmp_path / "state"
    for folder in (home / ".ssh", workspace, state / "keys"):
        folder.mkdir(parents=True)
        (folder / "secret").write_text(SECRET)
    (home / ".npmrc").write_text(f"//registry.test/:_authToken={SECRET}\nfund=false\n")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    other = asked("npx", "-y", str(npm_package(tmp_path, name="other")), HOME=str(home))
    preparing = Preparing(state, engine)
    neighbour = await preparing.prepared(other)
    assert neighbour is not None
    before = preparing.layers()
    places = [home, home / ".ssh/secret", home / ".npmrc", workspace, state, state / FOLDER, state / "keys/secret"]
    places += [Path(neighbour.mounts[-1].source), Path.home(), Path.cwd(), tmp_path]
    nosy = f"const PLACES = {json.dumps(list(map(str, places)))};{NOSY}"
    command = Command(
        ("npx", "-y", str(npm_package(tmp_path, nosy, "nosy")), str(workspace)),
        {**other.env, "TOKEN": SECRET},
        str(workspace),
    )

    layer = await preparing.prepared(command)

    assert layer is not None
    tree = Path(layer.mounts[-1].source)
    report = (tree / "node_modules/nosy/report.json").read_text()
    assert SECRET not in report
    found = json.loads(report)
    # On the way to its own layer, and to Python, there are folders with nothing else in them.
    alone = {*tree.parts, "nosy.tgz", *Path(sys.base_prefix).parts}
    assert {name for _, names in found["seen"] for name in names} <= alone
    assert not [path for path in (*tmp_path.rglob("evil"), Path.home() / "evil", Path("/evil")) if path.exists()]
    assert (workspace / "secret").read_text() == SECRET
    assert [kept for kept in preparing.layers() if kept in before] == list(before)
    assert await Preparing(state, Watched(engine, may=False)).prepared(other) == neighbour
    assert mode(tree) == 0o555


SLOW = "require('fs').writeFileSync('begun', ''); setTimeout(() => {}, 600000)"


@pytest.mark.long
async def test_a_fetch_that_is_cut_short_leaves_nothing(engine: Engine, tmp_path: Path):
    command = asked("npx", "-y", str(npm_package(tmp_path, SLOW)))
    fetching = asyncio.ensure_future(Preparing(tmp_path / "state", engine).prepared(command))
    await begun(tmp_path / "state")

    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching

    assert left(tmp_path / "state") == []


async def begun(state: Path) -> None:
    async with asyncio.timeout(60):
        while not list((state / FOLDER).glob("*/tree/node_modules/little/begun")):  # noqa: ASYNC110 -- another process
            await asyncio.sleep(0.05)


async def nothing_runs(name: str) -> None:
    """Wait until no process has this in its command."""
    async with asyncio.timeout(30):
        while any(name.encode() in line for line in commands()):  # noqa: ASYNC110 -- whose they were is dead
            await asyncio.sleep(0.05)


def commands() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()


PREPARES = """
import asyncio, json, sys
from pathlib import Path
from bascule.sandbox.process.child import Command
from bascule.sandbox.docker.api import Engine as ContainerEngine
from bascule.sandbox.prepare.layer import Layer
from bascule.sandbox.prepare.prepare import Preparing
from integration.test_prepared import Watched
from support import docker
from support.boxes import bubblewrap
from support.docker_boxes import docker_boxes, said

async def main(argv, env, state):
    async with bubblewrap(Path(state)) as engine:
        watched = Watched(engine)
        layer = await Preparing(Path(state), watched).prepared(Command(tuple(argv), env))
        print(watched.ran, layer.digest)

asyncio.run(main(*json.loads(sys.argv[1])))
"""


async def in_a_process(command: Command, state: Path) -> asyncio.subprocess.Process:
    told = json.dumps([list(command.argv), dict(command.env), str(state)])
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PREPARES,
        told,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])},
        stdout=asyncio.subprocess.PIPE,
    )


@pytest.mark.long
async def test_what_a_killed_process_had_begun_is_begun_again_by_the_next(engine: Engine, tmp_path: Path):
    package = npm_package(tmp_path, SLOW)
    process = await in_a_process(asked("npx", "-y", str(package)), tmp_path / "state")
    await begun(tmp_path / "state")
    process.send_signal(signal.SIGKILL)
    await process.wait()
    (partial,) = left(tmp_path / "state")
    await nothing_runs(partial)

    with pytest.raises(SandboxError, match="not fetched within 2 s"):
        await Preparing(tmp_path / "state", engine, within=2).prepared(asked("npx", "-y", str(package)))
    assert left(tmp_path / "state") == []


@pytest.mark.long
async def test_of_two_processes_at_once_one_fetches(tmp_path: Path):
    command = asked("npx", "-y", str(npm_package(tmp_path, "setTimeout(() => {}, 500)")))
    async with asyncio.timeout(120):
        both = [await in_a_process(command, tmp_path / "state") for _ in range(2)]
        told = [(await process.communicate())[0].decode().split() for process in both]

    assert sorted(count for count, _ in told) == ["0", "1"]
    assert told[0][1] == told[1][1]
    assert len(left(tmp_path / "state")) == 1
