"""Projects whose agent sessions have private files: a sandboxed server that writes them, and what becomes of their level in
another store."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.workspace.directory import home_name
from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE, Ran, bascule

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
LEVELS = [level.name.lower() for level in DataSensitivity]


def of(who: Principal) -> tuple[str, ...]:
    return ("--user", who.user_id, "--session", who.session_id)


def at_least(level: str, other: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(other)


@dataclass(frozen=True)
class Project:
    """A folder with a config, a state folder and a folder of workspaces beside it."""

    folder: Path
    keys: Mapping[str, Any] = field(default_factory=dict[str, Any])
    env: Mapping[str, str] = field(default_factory=lambda: {"BASCULE_SANDBOX": "bubblewrap"})

    def configure(self, raises: Mapping[str, str] | None = None, **keys: Any) -> None:
        """Writes the config: a server in a sandbox, whose tools raise the level as `raises` says."""
        box = {
            "raises": raises or {},
            "command": str(BASCULE),
            "args": ["sandbox", "serve"],
            "sandbox": {"engine": "bubblewrap"},
            "permissions": {"read": "read", "list": "read", "write": "write", "run": ["write", "connect"]},
            "timeouts": {"close": 1},
        }
        root = {"root": str(self.folder / "workspaces")}
        config = {"mcp_servers": {"box": box}, "workspace": root, **self.keys, **keys}
        (self.folder / "bascule.yaml").write_text(json.dumps(config))

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def home(self, who: Principal = ALICE) -> Path:
        return self.folder / "workspaces" / home_name(who)

    def mark(self, who: Principal = ALICE) -> Path:
        return self.home(who) / "level"

    async def run(self, *argv: str, env: Mapping[str, str] | None = None) -> Ran:
        return await bascule(self.folder, *argv, env={**self.env, **(env or {})})

    async def json(self, *argv: str, env: Mapping[str, str] | None = None) -> Any:
        ran = await self.run(*argv, "--json", env=env)
        assert ran.code == 0, f"{argv}: {ran.code}\n{ran.out}\n{ran.err}"
        return ran.json

    async def write(self, who: Principal = ALICE, text: str = "private") -> None:
        """Has a file written in the workspace, by a server in a sandbox."""
        await self.json("call", "box_write", "path=notes.md", f"text={text}", *of(who))
        assert (self.home(who) / "files/notes.md").read_text() == text

    async def raise_to(self, level: str, who: Principal = ALICE) -> None:
        raised = await self.json("sessions", "raise", *of(who), "--to", level, "--reason", "uploaded")
        assert raised["level"] == level

    async def declassify(self, level: str = "public", who: Principal = ALICE) -> Any:
        return await self.json("sessions", "declassify", *of(who), "--to", level, "--reason", "test data", "--yes")

    async def used(self, who: Principal = ALICE, env: Mapping[str, str] | None = None) -> Ran:
        """A call in the agent session, as an agent makes one."""
        return await self.run("call", "box_read", "path=notes.md", "--json", *of(who), env=env)

    async def shown(self, who: Principal = ALICE, env: Mapping[str, str] | None = None) -> Any:
        return await self.json("sessions", "show", *of(who), env=env)


def project(folder: Path, **keys: Any) -> Project:
    skip_without_bubblewrap()
    made = Project(folder, keys)
    made.configure()
    return made


def copied_keys(state: Path, other: Path) -> None:
    """The keys of a state folder in another one, as for a second machine."""
    other.mkdir(mode=0o700, exist_ok=True)
    shutil.copytree(state / "keys", other / "keys")


def remove_database(state: Path) -> None:
    for path in state.glob("bascule.db*"):
        path.unlink()


def is_root() -> bool:
    return os.geteuid() == 0
