"""Clients on old releases of the official SDK, which people still run, before our gateway."""

import asyncio
import json
from pathlib import Path

import pytest

from support.peers import SDK_VERSIONS, old_sdk
from support.scenarios import entry
from support.servers import SERVERS
from support.stdio_clients import as_command
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("GTW-1")


@pytest.mark.parametrize("version", SDK_VERSIONS)
@pytest.mark.long
async def test_a_client_on_an_old_sdk_starts_the_gateway_and_uses_it(version: str, tmp_path: Path):
    python = await asyncio.to_thread(old_sdk, version)
    async with (
        fail_after(90, "an old client"),
        as_command(tmp_path, {"work": entry("obeying", tmp_path / "log")}) as command,
    ):
        words = (str(python), str(SERVERS / "vintage_starter.py"), command.command, *command.args)
        process = await asyncio.create_subprocess_exec(*words, env=command.env, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(out) == {"tools": ["work_act"], "text": '{"n": 1}', "wrong": True}
