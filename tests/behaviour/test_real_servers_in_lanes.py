"""Real servers from npm and PyPI in the open, proxied and sealed lane of a sandbox, with both engines."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Runtime, ToolResult
from bascule.core.sensitivity import DataSensitivity
from support.corpus import FEW, MANY, Package, program_of
from support.peers import EVERYTHING, FILESYSTEM, MEMORY, SDK_VERSIONS, TIME, old_sdk, vintage_sqlite
from support.servers import SERVERS
from support.waiting import fail_after
from support.without_npx import program

pytestmark = [pytest.mark.long, pytest.mark.requirement("RAT-5", "SBX-1", "SBX-4")]

LEVELS = {"open": None, "proxied": DataSensitivity.CONFIDENTIAL, "sealed": DataSensitivity.SECRET}
PATIENT = {"connect": 120, "probe": 20, "list": 60}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "everything": ("echo", {"message": "hi"}),
    "files": ("read_text_file", {"path": "{folder}/note.txt"}),
    "memory": ("read_graph", {}),
    "time": ("get_current_time", {"timezone": "UTC"}),
    "sqlite": ("list_tables", {}),
    **{f"sdk-{version.replace('.', '-')}": ("add", {"a": 1, "b": 2}) for version in SDK_VERSIONS},
}
"""One call of each server that needs no network."""


def started_by(command: str | Path, *args: str | Path, **more: Any) -> dict[str, Any]:
    return {"command": str(command), "args": [str(each) for each in args], "timeouts": PATIENT, **more}


def servers(folder: Path) -> dict[str, dict[str, Any]]:
    old = {f"sdk-{version.replace('.', '-')}": version for version in SDK_VERSIONS}
    return {
        "everything": started_by(*program(*EVERYTHING)),
        "files": started_by(*program(*FILESYSTEM), folder),
        "memory": started_by(*program(*MEMORY), env={"MEMORY_FILE_PATH": "/workspace/memory.json"}),
        "time": started_by(TIME),
        "sqlite": started_by(vintage_sqlite(), "--db-path", "/workspace/data.db"),
        **{name: started_by(old_sdk(version), SERVERS / "vintage.py", "stdio") for name, version in old.items()},
    }


def written(folder: Path, entries: dict[str, dict[str, Any]]) -> Path:
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": entries, "links": {"starting": 2}}))
    return config


async def at_level(runtime: Runtime, lane: str) -> AgentSession:
    session, level = runtime.session("alice", lane), LEVELS[lane]
    await session.begin()
    if level is not None:
        await session.add_private_dataset("payroll", level)
    assert str(session.lane) == lane
    return session


async def test_real_servers_list_and_answer_in_all_three_lanes(engine: str, tmp_path: Path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown/note.txt").write_text("the bridge is down")
    failed: dict[tuple[str, str], object] = {}
    async with fail_after(400), Runtime.from_file(written(tmp_path, servers(tmp_path / "shown"))) as runtime:
        for lane in LEVELS:
            session = await at_level(runtime, lane)
            reports = await session.connect()
            failed |= {(lane, report.name): report.reason for report in reports if report.error is not None}
            for name, (tool, arguments) in CALLS.items():
                given = {key: str(value).format(folder=tmp_path / "shown") for key, value in arguments.items()}
                outcome = await session.call(f"{name}_{tool}", arguments if name.startswith("sdk") else given)
                if not isinstance(outcome, ToolResult):
                    failed[lane, name] = outcome

    assert failed == {}


@pytest.mark.parametrize("lane", ["proxied", "sealed"])
async def test_servers_that_need_a_network_start_in_private_lanes(engine: str, lane: str, scale: int, tmp_path: Path):
    """The open lane of these servers is left out: there they might send traffic to hosts outside of this machine."""
    packages = FEW if scale == 1 else MANY
    entries = {package.label: entry_of(package) for package in packages}
    async with fail_after(600), Runtime.from_file(written(tmp_path, entries)) as runtime:
        session = await at_level(runtime, lane)
        reports = await session.connect()

    assert {report.name: report.reason for report in reports if report.error is not None} == {}
    assert len(reports) == len(packages)


def entry_of(package: Package) -> dict[str, Any]:
    # mcp-atlassian writes the members of a Python set into its schemas. Their order changes with each process, and a twin
    # with other schemas is refused.
    return started_by(*program_of(package), *package.args, env={**package.env, "PYTHONHASHSEED": "0"})
