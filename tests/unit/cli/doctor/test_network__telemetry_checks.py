"""Where counts and spans go."""

import socket

from bascule.cli.doctor.network import telemetry_checks
from bascule.config.model.telemetry import TelemetrySettings


async def test_a_collector_that_is_not_there_is_a_warning():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = TelemetrySettings(otlp=f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert [check.status for check in await telemetry_checks(settings)] == ["ok"]
    assert [check.status for check in await telemetry_checks(settings)] == ["warn"]
    assert await telemetry_checks(TelemetrySettings()) == []
