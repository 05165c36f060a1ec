"""What `bascule doctor` checks of where counts and spans go: somebody collects them, their page is free."""

import asyncio
from urllib.parse import urlsplit

from bascule.cli.doctor.check import Check
from bascule.cli.doctor.network__port_checks import port_check
from bascule.config.model.telemetry import TelemetrySettings

WITHIN = 3.0
"""Seconds for a collector to answer. It is beside us, as a rule."""

TELEMETRY = "telemetry"


async def telemetry_checks(settings: TelemetrySettings) -> list[Check]:
    checks: list[Check] = []
    if settings.otlp is not None:
        checks.append(await _collector_check(settings.otlp))
    if settings.page is not None:
        checks.append(port_check(TELEMETRY, "telemetry.prometheus", *settings.page))
    return checks


async def _collector_check(address: str) -> Check:
    """Whether anybody takes a connection there. Nothing is sent."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    shown = f"{parts.scheme}://{host}:{port}"
    try:
        async with asyncio.timeout(WITHIN):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        evidence = f"no answer within {WITHIN:g} s" if isinstance(error, TimeoutError) else str(error)
        fix = "start the collector, correct `telemetry.otlp`, or leave it out"
        return Check(TELEMETRY, "warn", f"no collector listens at {shown}: spans and metrics are lost", evidence, fix)
    writer.transport.abort()
    return Check(TELEMETRY, "ok", f"a collector listens at {shown}")
