import subprocess
import sys
from pathlib import Path

import pytest

from bascule.config import TelemetrySettings
from bascule.core.errors import ConfigError
from bascule.core.outcome import ToolResult
from support.collector import collecting
from support.ports import free_port
from support.runtime import obeying, running


async def test_a_runtime_that_was_asked_for_none_has_no_telemetry(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        assert runtime.telemetry is None
        assert isinstance(await runtime.session("alice", "s-1").call("work_act"), ToolResult)


async def test_links_are_told_when_somebody_looks(tmp_path: Path):
    settings = TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}")
    async with running(obeying(tmp_path / "log"), telemetry=settings) as runtime:
        assert runtime.telemetry is not None
        assert [*runtime.telemetry.counts.links()] == []
        await runtime.session("alice", "s-1").call("work_act")
        assert [*runtime.telemetry.counts.links()] == [("work", "open", "ready")]


async def test_one_runtime_can_be_started_again(tmp_path: Path):
    settings = TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}")
    async with running(obeying(tmp_path / "log"), telemetry=settings) as runtime:
        pass
    async with runtime:
        assert runtime.telemetry is not None
        assert runtime.telemetry.port is not None


async def test_an_address_that_is_taken_fails_the_start_before_any_server_is_started(tmp_path: Path):
    async with collecting() as collector:
        taken = TelemetrySettings(prometheus=collector.url.removeprefix("http://"))
        with pytest.raises(ConfigError, match="cannot listen"):
            async with running(obeying(tmp_path / "log", required=True), telemetry=taken):
                pass
    assert not (tmp_path / "log").exists()


QUIETLY = """
import asyncio, sys
from bascule import Runtime

def act() -> str:
    "Do it."
    return "done"

async def main():
    async with Runtime.from_servers({"own": [act]}) as runtime:
        assert (await runtime.session("a", "s").call("own_act")).ok

asyncio.run(main())
print([name for name in sys.modules if name.split(".")[0] in {"opentelemetry", "prometheus_client", "google"}
       or name.startswith("bascule.records.telemetry.")])
"""


@pytest.mark.long
def test_a_runtime_without_telemetry_imports_nothing_of_it():
    ran = subprocess.run([sys.executable, "-c", QUIETLY], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
