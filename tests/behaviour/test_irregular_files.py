"""FIFOs, folders, sockets and devices in place of files: each command ends by itself, and reports what is there."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.command import BASCULE, Ran, bascule, environment
from support.irregular import KINDS, log_of_work, put
from support.kit_http import line_to
from support.listening import listening
from support.ports import free_port
from support.scenarios import entry
from support.tokens import AUDIENCE, ISSUER, ec_key, pem
from support.waiting import PATIENCE

PEM = pem(ec_key())
AUTH = {"keys": [{"algorithm": "ES256", "public_key": "key.pem"}], "issuer": ISSUER, "audience": AUDIENCE}

BOUND = 30
"""Seconds in which a command must end by itself."""

HOW = {
    "list": ("list",),
    "call": ("call", "work_echo", "message=hello"),
    "doctor": ("doctor",),
    "inspect": ("inspect", "work_echo"),
    "logs": ("logs", "work"),
    "verify": ("audit", "verify"),
    "show": ("audit", "show"),
    "sessions": ("sessions",),
    "serve": ("serve", "--dev"),
    "stubs": ("stubs", "--out", "tools.py"),
    "add": ("add", "server.json"),
}

RUNS = ("list", "call", "doctor", "inspect", "serve", "stubs")
"""Commands that open the state folder and the config."""

READERS: dict[str, tuple[str, ...]] = {
    "bascule.yaml": (*RUNS, "logs"),
    "bascule.lock": ("list", "call", "doctor", "inspect"),
    ".env": ("list", "call", "doctor", "inspect"),
    "key.pem": ("doctor", "serve"),
    "state/keys/levels.key": ("list", "call", "doctor", "inspect", "sessions", "stubs"),
    "state/keys/audit.key": (*RUNS, "verify"),
    "state/keys/dashboard.token": ("doctor", "serve"),
    "state/audit/id": (*RUNS, "verify", "show"),
    "state/audit/0001.log": (*RUNS, "verify", "show"),
    "state/audit/0001.lock": RUNS,
    "state/bascule.db": (*RUNS, "verify", "sessions"),
    "state/bascule.db-wal": (*RUNS, "verify", "sessions"),
    "state/bascule.db-raises": ("list", "call", "doctor", "inspect", "sessions", "stubs"),
    "LOG": ("logs",),
    "tools.py": ("stubs",),
    "server.json": ("add",),
}
"""Every file of a project and of a state folder, with the commands that must report it."""


GOES_ON = {(".env", "list"), ("bascule.lock", "list"), ("bascule.lock", "inspect")}
"""The command has a result all the same, in which the file is reported."""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Project folder in which commands have run: the state folder has all its files."""
    folder = tmp_path_factory.mktemp("used")
    configure(folder)
    asyncio.run(_use(folder))
    return folder


async def _use(folder: Path) -> None:
    for argv in (("approve", "--all", "--yes"), HOW["call"], HOW["stubs"]):
        ran = await bascule(folder, *argv)
        assert ran.code == 0, ran


def configure(folder: Path, **gateway: Any) -> None:
    servers = {"work": entry("echo", env={"WORD": "${WORD}"})}
    (folder / "bascule.yaml").write_text(json.dumps({"mcp_servers": servers, "gateway": gateway or {"auth": AUTH}}))
    (folder / ".env").write_text("WORD=hello\n")
    (folder / "key.pem").write_text(PEM)


def place(folder: Path, file: str) -> Path:
    return log_of_work(folder) if file == "LOG" else folder / file


def told(ran: Ran) -> str:
    """Output as one line: `doctor` breaks lines anywhere between words."""
    return " ".join((ran.out + ran.err).split())


@pytest.mark.requirement("UX-3")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", READERS)
async def test_each_command_ends_and_names_it(used: Path, tmp_path: Path, file: str, kind: str):
    async def alone(name: str) -> Ran:
        # Two commands in one state folder take two slots of the audit log, of which one is whole.
        folder = tmp_path / name
        shutil.copytree(used, folder)
        put(kind, place(folder, file))
        # Other tests start gateways at the same time.
        port = ("--port", str(free_port())) if name == "serve" else ()
        return await bascule(folder, *HOW[name], *port, timeout=BOUND * PATIENCE)

    ran = await asyncio.gather(*map(alone, READERS[file]))

    for name, each in zip(READERS[file], ran, strict=True):
        # A key, a journal or a lock is not looked for behind a link, and the device is behind one.
        found = "a device|a symbolic link" if kind == "a device" else kind
        assert re.search(f"it is ({found}), not a regular file", told(each)), (name, each)
        assert "BSC-000" not in told(each), (name, each)
        assert (each.code == 0) == ((file, name) in GOES_ON), (name, each)


@pytest.mark.requirement("UX-2")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_completion_ends(used: Path, tmp_path: Path, kind: str):
    async def completed(file: str) -> Ran:
        folder = tmp_path / file.replace("/", "-")
        shutil.copytree(used, folder)
        put(kind, place(folder, file))
        return await bascule(folder, "__complete", "bash", "inspect", "", timeout=BOUND * PATIENCE)

    files = ("bascule.yaml", ".env", "bascule.lock", "key.pem", "state/bascule.db", "state/bascule.db-wal")
    ran = dict(zip(files, await asyncio.gather(*map(completed, files)), strict=True))

    assert {each.code for each in ran.values()} == {0}, ran
    assert "work" in ran[".env"].out


@pytest.mark.requirement("RAT-2")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_gateway_without_a_level_key_does_not_start(used: Path, tmp_path: Path, kind: str):
    folder = tmp_path / "x"
    shutil.copytree(used, folder)
    configure(folder, port=free_port())
    put(kind, folder / "state/keys/levels.key")
    ran = await bascule(folder, "serve", "--dev", timeout=BOUND * PATIENCE)

    assert ran.code == 1, ran
    assert "levels.key cannot be used" in ran.err


@pytest.mark.requirement("RAT-2")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_gateway_refuses_calls_without_a_journal_of_levels(used: Path, tmp_path: Path, kind: str):
    folder = tmp_path / "x"
    shutil.copytree(used, folder)
    port = free_port()
    configure(folder, port=port)
    put(kind, folder / "state/bascule.db-raises")

    command = (BASCULE, "serve", "--dev", "--config", folder / "bascule.yaml")
    async with listening(port, *command, env=environment(folder)), line_to(port) as line:
        answer = await line.call("work_echo", {"message": "hello"})

    assert answer.status == 500, answer
    assert b"hello" not in answer.body
