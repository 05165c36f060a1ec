"""The tools of servers that people use: nearly none of them may be flagged, and none be unusable."""

import asyncio
from pathlib import Path

import pytest

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.runtime import Runtime
from support.corpus import FEW, MANY, Package, server_of, time_server

PATIENT = Timeouts(connect=120, probe=20, list=60, close=2)


def configured(package: Package, home: Path) -> ServerConfig:
    program, *args = server_of(package)
    env = {"HOME": str(home), **package.env}
    return ServerConfig(package.label, StdioTransport(program, tuple(args), cwd=str(home), env=env), timeouts=PATIENT)


@pytest.mark.long
async def test_of_the_tools_that_people_use_hardly_one_is_flagged_and_none_is_unusable(tmp_path: Path, scale: int):
    packages = FEW if scale == 1 else MANY
    program, *args = time_server()
    servers = [configured(package, tmp_path) for package in packages]
    servers.append(ServerConfig("time", StdioTransport(program, tuple(args)), timeouts=PATIENT))
    config = RuntimeConfig(servers={server.name: server for server in servers}, links_starting=2)
    async with asyncio.timeout(600), Runtime(config) as runtime:
        session = runtime.session("alice", "s-1")
        reports = await session.connect()
        specs = session.toolbox.all_specs()

    failed = {report.name: report.reason for report in reports if report.error is not None}
    assert not failed
    print(f"{len(specs)} tools of {len(reports)} servers, {len(flagged(specs))} flagged")
    assert len(specs) >= (50 if scale == 1 else 500)
    assert len(flagged(specs)) <= len(specs) * 0.02, flagged(specs)
    assert [spec.problem for spec in specs if spec.status is not ToolStatus.EXPOSED] == []
    assert [report.name for report in reports if report.findings] == []


def flagged(specs: tuple[ToolSpec, ...]) -> dict[str, list[str]]:
    return {spec.name: [str(finding) for finding in spec.findings] for spec in specs if spec.findings}
