"""An engine that fetches nothing: in the place of npm it writes what npm would. And packages packed by the tests."""

import asyncio
import io
import json
import os
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path

from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended, EngineBox, SharedInodes
from bascule.sandbox.spec.launch_request import Order

SERVER = "#!/usr/bin/env node\n"


class WritesPackages:
    """Keeps the boxes it was given. `code` and `output` are what the fetch ends with."""

    def __init__(self, code: int = 0, output: str = "", *, leaves: str = "") -> None:
        self.boxes: list[Box] = []
        self.code = code
        self.output = output
        self.leaves = leaves
        """A path in the layer that is there when the fetch has ended, as a pipe."""
        self.waits: asyncio.Event | None = None
        self.begun = asyncio.Event()

    kind = "written"

    def bounds(self) -> Mapping[str, str]:
        return {}

    def box(self, order: Order) -> EngineBox:
        raise NotImplementedError("nothing is served from here")

    async def shared_inodes(self, order: Order) -> SharedInodes:
        raise NotImplementedError("nothing is served from here")

    async def run(self, box: Box, timeout: float) -> Ended:
        self.boxes.append(box)
        tree = writable(box)
        install(tree)
        self.begun.set()
        if self.waits is not None:
            await self.waits.wait()
        if self.leaves:
            os.mkfifo(tree / self.leaves)
        return Ended(self.code, self.output)


def writable(box: Box) -> Path:
    (mount,) = (each for each in box.mounts if each.writable)
    return Path(mount.source)


def install(tree: Path, name: str = "server", programs: Mapping[str, str] | None = None) -> None:
    """What `npm install` leaves behind."""
    package = tree / "node_modules" / name
    package.mkdir(parents=True, exist_ok=True)
    programs = programs or {"server": "index.js"}
    (tree / "package.json").write_text(json.dumps({"dependencies": {name: "1.0.0"}}))
    (package / "package.json").write_text(json.dumps({"name": name, "bin": dict(programs)}))
    (tree / "node_modules/.bin").mkdir(exist_ok=True)
    for program, file in programs.items():
        (package / file).write_text(SERVER)
        (package / file).chmod(0o755)
        link = tree / "node_modules/.bin" / program.rpartition("/")[2]
        link.unlink(missing_ok=True)
        link.symlink_to(f"../{name}/{file}")


def tools(folder: Path) -> str:
    """A folder for PATH with what looks like node and npm."""
    folder.mkdir(parents=True, exist_ok=True)
    cli = folder.parent / "lib/npm/bin/npm-cli.js"
    cli.parent.mkdir(parents=True, exist_ok=True)
    cli.write_text("#!/usr/bin/env node\n")
    cli.chmod(0o755)
    (folder / "node").write_bytes(b"\x7fELF node")
    (folder / "node").chmod(0o755)
    if not (folder / "npm").is_symlink():
        (folder / "npm").symlink_to(cli)
    return str(folder)


def command(*argv: str, path: str, cwd: str | None = None, **env: str) -> Command:
    return Command(argv, {"PATH": path, "HOME": "/nonexistent", **env}, cwd)


def packed(path: Path, description: Mapping[str, object], files: Mapping[str, str]) -> Path:
    """A package as `npm pack` makes it."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"package.json": json.dumps(dict(description)), **files}.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(text.encode()), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)
