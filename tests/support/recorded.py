"""State that an earlier version wrote, copied from `tests/fixtures` into a folder of a test's own.

Git keeps no modes but the execute bit and no empty folders, so both are set again here. What that version derived from the path of
a config (names of folders, one column of the database) is derived again from the path of the copy, by the formula of that version.
"""

import asyncio
import hashlib
import io
import json
import os
import platform
import shutil
import sqlite3
import sys
import tarfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pytest

from support.command import Ran, bascule
from support.postgres import execute
from support.waiting import PATIENCE, fail_after

FIXTURE = Path(__file__).parents[1] / "fixtures" / "v0.1.0"

BASE = "/srv/bascule-fixture"
"""The folder in which everything was recorded."""

CONFIGS = ("bascule.yaml", ".mcp.json", "boxes.yaml")

PYTHON_ON_PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
"""The recorded configs name their servers' interpreter `python`."""

StoreName = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One copy of the recorded state, and what 0.1.0 itself read of it."""

    folder: Path
    expected: Mapping[str, Any]

    @property
    def state(self) -> Path:
        return self.folder / "state"

    async def run(self, *words: str, env: Mapping[str, str] | None = None) -> Ran:
        """One command in the folder of the config."""
        return await bascule(self.folder, *words, env={**PYTHON_ON_PATH, **(env or {})}, timeout=60 * PATIENCE)

    async def json(self, *words: str, code: int = 0, env: Mapping[str, str] | None = None) -> Any:
        """What one command prints as JSON, if it ends with this code."""
        ran = await self.run(*words, "--json", env=env)
        assert ran.code == code, f"{words}: {ran.code}\n{ran.out}\n{ran.err}"
        return ran.json


def recorded(folder: Path, store: StoreName, address: str = "") -> Recorded:
    """A copy in an empty folder; with PostgreSQL, in the empty database at this address too."""
    shutil.copytree(FIXTURE / "project", folder, dirs_exist_ok=True)
    expected = json.loads((FIXTURE / store / "expected.json").read_text())
    shutil.copytree(FIXTURE / store / "state", folder / "state", symlinks=True)
    _move_folders(folder)
    if store == "postgres":
        execute(address, (FIXTURE / "postgres/dump.sql").read_text())
        with (folder / "bascule.yaml").open("a") as file:
            file.write(f"store: {address}\n")
    else:
        _move_listings(folder)
    _set_modes(folder / "state", expected["modes"])
    return Recorded(folder, expected)


def _move_folders(folder: Path) -> None:
    for name in CONFIGS:
        old = folder / "state/logs" / _digest(f"{BASE}/{name}")[:16]
        if old.exists():
            old.rename(old.with_name(_digest(str(folder / name))[:16]))
    imported = folder / "state/imports" / _digest(f"{BASE}/imported.yaml")[:16]
    if imported.exists():
        moved = imported.rename(imported.with_name(_digest(str(folder / "imported.yaml"))[:16]))
        for record in moved.iterdir():
            record.write_text(record.read_text().replace(BASE, str(folder)))


def _move_listings(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state/bascule.db")) as db, db:
        for table in ("listings", "tool_digests"):
            db.execute(f"UPDATE {table} SET home = replace(home, ?, ?)", (BASE, str(folder)))


def _set_modes(state: Path, modes: Mapping[str, str]) -> None:
    """Files before their folders, whose names end with a slash: some folders are closed to every change."""
    state.chmod(0o700)
    for name, mode in sorted(modes.items(), reverse=True):
        path = state / name
        parts = Path(name).parts
        if len(parts) > 1 and parts[0] in {"logs", "imports"}:
            continue
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.chmod(int(mode, 8))
    for kind in ("logs", "imports"):
        for path in state.glob(f"{kind}/**/*"):
            path.chmod(0o700 if path.is_dir() else 0o600)


def layer_key(package: Path, node: Path) -> str:
    """The key that 0.1.0 gives to a packed npm package that is run with `npx -y`, on this machine."""
    status, program = package.stat(), node.resolve()
    known = program.stat()
    parts = (
        1,
        "npm",
        [str(package)],
        None,
        [],
        "npm",
        f"{program} {known.st_size} {known.st_mtime_ns}",
        platform.machine(),
        platform.libc_ver(),
        [f"{status.st_size} {status.st_mtime_ns}"],
    )
    return _digest(json.dumps(parts))[:32]


def login_key(user: str, url: str) -> str:
    """The name of the file in which 0.1.0 keeps the login of a user at a server."""
    return f"oauth-{_digest(json.dumps([user, url], separators=(',', ':'), ensure_ascii=False))[:40]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def moved_layer(old: Recorded, package: Path, node: Path) -> str:
    """The layer under the key that it has on this machine, where node may be another one. Returns the key."""
    key, program = layer_key(package, node), str(node.resolve())
    (folder,) = (path for path in (old.state / "prepared").iterdir() if path.is_dir())
    record = folder / "layer.json"
    known = json.loads(record.read_bytes())
    record.write_text(json.dumps({**known, "interpreter": program, "needed": [program]}))
    folder.rename(folder.with_name(key))
    return key


def kept_login(old: Recorded, url: str) -> str:
    """The recorded login, for a server that is elsewhere now. Returns its access token."""
    (path,) = (old.state / "keys").glob("oauth-*")
    login = json.loads(path.read_bytes())
    assert path.name == login_key("alice", login["server_url"])
    path.write_text(json.dumps({**login, "server_url": url}))
    path.rename(path.with_name(login_key("alice", url)))
    return login["tokens"]["access"]


def image_fits() -> bool:
    """The image holds the links of the recording machine, such as `/bin`. Others give another image."""
    with tarfile.open(FIXTURE / "docker/image.tar.gz") as outer:
        (layer,) = (name for name in outer.getnames() if name.endswith("layer.tar"))
        member = outer.extractfile(layer)
        assert member is not None
        with tarfile.open(fileobj=io.BytesIO(member.read())) as inner:
            links = {entry.name: entry.linkname for entry in inner if entry.issym()}
    return all(Path("/", name).is_symlink() and os.readlink(f"/{name}") == to for name, to in links.items())  # noqa: PTH115


async def values_of(old: Recorded, name: str) -> Any:
    argv = [sys.executable, str(old.folder / "config_values.py"), name]
    async with fail_after(60, "loading a config"):
        process = await asyncio.create_subprocess_exec(*argv, cwd=old.folder, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


async def line_with(process: asyncio.subprocess.Process, event: str) -> dict[str, Any]:
    assert process.stdout is not None
    async with fail_after(60, f"the event {event}"):
        while line := await process.stdout.readline():
            if (told := json.loads(line)).get("event") == event:
                return told
    pytest.fail(f"the command ended without the event {event}")


def differences(found: Any, wanted: Any, place: str = "") -> list[str]:
    """What an earlier answer has and this one lacks. Later versions may add members to objects."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        lacking = [f"{place}/{name} is missing" for name in wanted if name not in found]
        below = [differences(found[name], wanted[name], f"{place}/{name}") for name in wanted if name in found]
        return [*lacking, *chain.from_iterable(below)]
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        pairs = enumerate(zip(found, wanted, strict=True))
        return [each for number, pair in pairs for each in differences(*pair, f"{place}/{number}")]
    return [] if found == wanted else [f"{place} is {str(found)[:200]}, was {str(wanted)[:200]}"]
