"""Private lanes of a sandbox: no Unix sockets, in the sealed one no connections either, and a kit server that still
reads and raises the level of its agent session."""

import json
import shutil
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bascule import AgentSession, Outcome, Runtime, ToolResult
from bascule.core.sensitivity import DataSensitivity
from support.command import BASCULE
from support.waiting import fail_after

KIT_SERVER = Path(__file__).parents[1] / "servers/kit_boxed.py"
SERVING = {"command": str(BASCULE), "args": ["sandbox", "serve"], "permissions": {"run": ["write", "connect"]}}
LEVELS = {"open": None, "proxied": DataSensitivity.CONFIDENTIAL, "sealed": DataSensitivity.SECRET}

TRIED = """
import socket, sys
def tried(family, address):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(20)
            client.connect(address)
            client.sendall(sys.argv[2].encode())
    except OSError as error:
        return error.strerror
    return "sent"
with socket.create_server(("127.0.0.1", 0)) as inside:
    print(tried(socket.AF_UNIX, sys.argv[1]), tried(socket.AF_INET, inside.getsockname()), sep=", ")
"""


@contextmanager
def service() -> Generator[tuple[str, socket.socket]]:
    """A program of the host that listens on a Unix socket which every user may connect to."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = Path(folder, "service.sock")
        listening.bind(str(path))
        Path(folder).chmod(0o755)
        path.chmod(0o666)
        listening.listen()
        listening.settimeout(20)
        yield str(path), listening


def written(folder: Path, servers: dict[str, Any]) -> Path:
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": servers}))
    return config


def given(outcome: Outcome) -> Any:
    assert isinstance(outcome, ToolResult), outcome
    structured = outcome.structured
    return structured["result"] if structured is not None and structured.keys() == {"result"} else structured


@pytest.mark.requirement("SBX-12")
async def test_a_mounted_unix_socket_is_reached_in_the_open_lane_only(engine: str, tmp_path: Path):
    with service() as (path, listening):
        servers = {"box": {**SERVING, "sandbox": {"engine": engine, "mounts": [{"path": path}]}}}
        async with fail_after(120), Runtime.from_file(written(tmp_path, servers)) as runtime:
            session = runtime.session("alice", "s-1")
            tried = {lane: await sends(session, level, path, lane) for lane, level in LEVELS.items()}
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(99) == b"open"
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert tried == {
        "open": "sent, sent",
        "proxied": "Address family not supported by protocol, sent",
        "sealed": "Address family not supported by protocol, Network is unreachable",
    }


async def sends(session: AgentSession, level: DataSensitivity | None, path: str, text: str) -> str:
    if level is not None:
        await session.add_private_dataset("payroll", level)
    ended = given(await session.call("box_run", {"argv": ["python3", "-c", TRIED, path, text]}))
    return ended["stdout"].strip() or ended["stderr"]


@pytest.mark.requirement("KIT-8")
async def test_a_kit_server_reads_and_raises_the_level_in_all_three_lanes(engine: str, tmp_path: Path):
    entry = {
        "command": sys.executable,
        "args": [str(KIT_SERVER)],
        "kit": True,
        "permissions": {"who": "read", "salaries": "read"},
        "sandbox": {"engine": engine},
    }
    async with fail_after(150), Runtime.from_file(written(tmp_path, {"boxed": entry})) as runtime:
        session = runtime.session("alice", "s-1")
        for lane, before, raised in (
            ("open", "PUBLIC", "INTERNAL"),
            ("proxied", "CONFIDENTIAL", "SECRET"),
            ("sealed", "SECRET", "SECRET"),
        ):
            if lane == "proxied":
                await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
            who = given(await session.call("boxed_who"))
            assert (who["lane"], who["level"]) == (lane, before)
            await session.call("boxed_salaries", {"dataset": f"{lane} {raised}", "sensitivity": raised.lower()})
            assert session.sensitivity.name == raised
        named = [receipt.cause.dataset for receipt in session.receipts if receipt.cause.dataset]
    assert named == ["open INTERNAL", "payroll", "proxied SECRET"]


PROGRAMS = {
    "/usr/lib/chromium/chromium --headless --no-sandbox --user-data-dir=$HOME/c --dump-dom about:blank": "socketpair: Addr",
    "psql -c 'select 1'": "could not create socket: Address family not supported by protocol",
    "python3 -c 'import multiprocessing as m; m.set_start_method(\"forkserver\"); m.Process(target=print).start()'": (
        "Address family not supported by protocol"
    ),
    "python3 -c 'import multiprocessing as m; p = m.Process(target=print, args=[[7]]); p.start(); p.join()'": "[7]",
    "python3 -c 'import asyncio as a; print(a.run(a.create_subprocess_exec(\"true\")))'": "<Process",
}
"""Commands, and the output that docs/sandbox.md states for them in private lanes."""


@pytest.mark.requirement("SBX-12")
async def test_programs_that_need_unix_sockets_fail_with_the_documented_error(engine: str, tmp_path: Path):
    servers = {"box": {**SERVING, "sandbox": {"engine": engine}}}
    async with fail_after(120), Runtime.from_file(written(tmp_path, servers)) as runtime:
        session = runtime.session("alice", "s-1")
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        for line, expected in PROGRAMS.items():
            if shutil.which(line.split()[0]) is not None:
                ended = given(await session.call("box_run", {"line": f"cd; {line} 2>&1", "timeout": 60}))
                assert expected in ended["stdout"]


WRITABLE = """
import os
def filters(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(line.split()[1] for line in status if line.startswith("Seccomp_filters"))
def writable(pid):
    try:
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
    except OSError:
        return False
    return True
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
print(len(pids), {filters(pid) for pid in pids if writable(pid)} == {filters(os.getpid())}, writable(1))
"""


@pytest.mark.requirement("SBX-12")
async def test_no_process_without_the_second_filter_can_be_written_to(engine: str, tmp_path: Path):
    servers = {"box": {**SERVING, "sandbox": {"engine": engine}}}
    config = tmp_path / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": servers, "egress": {"allow": ["allowed.test"]}}))
    async with fail_after(120), Runtime.from_file(config) as runtime:
        session = runtime.session("alice", "s-1")
        for level in (DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET):
            await session.add_private_dataset("payroll", level)
            ended = given(await session.call("box_run", {"argv": ["python3", "-c", WRITABLE]}))
            count, same, first = ended["stdout"].split()
            assert (int(count) >= 3, same, first) == (True, "True", "False"), ended
