"""Telemetry settings: address of the OTLP collector, and listen address for Prometheus."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from bascule.config.model.kit_server import HIGHEST_PORT
from bascule.config.urls import url_flaw
from bascule.config.validation import Flaw, refuse

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable in which whoever collects finds its credentials."""


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Both are off unless they are asked for."""

    otlp: str | None = None
    """The address of a collector that speaks OTLP over HTTP, without `/v1/traces`."""
    prometheus: str | None = None
    """`host:port` at which Prometheus finds the metrics."""

    def __post_init__(self) -> None:
        refuse("TelemetrySettings", telemetry_flaws(self.otlp, self.prometheus))

    def __bool__(self) -> bool:
        return self.otlp is not None or self.prometheus is not None

    @property
    def page(self) -> tuple[str, int] | None:
        """Where the metrics are served."""
        found = None if self.prometheus is None else _place(self.prometheus)
        assert not isinstance(found, str)
        return found

    def of_worker(self, index: int) -> "TelemetrySettings":
        """Those of one of several workers: each counts what it does itself, and serves that at the port after that of
        the worker before it. The first has the port that the file names."""
        if self.page is None:
            return self
        host, port = self.page
        shown = f"[{host}]" if ":" in host else host
        return replace(self, prometheus=f"{shown}:{port + index}")


def telemetry_flaws(otlp: Any, prometheus: Any) -> Iterator[Flaw]:
    if otlp is not None and (flaw := _otlp_flaw(otlp)):
        yield Flaw(("otlp",), flaw)
    if prometheus is not None:
        flaw = _place(prometheus) if isinstance(prometheus, str) else "must be text, such as 127.0.0.1:9464"
        if isinstance(flaw, str):
            yield Flaw(("prometheus",), flaw)


def _otlp_flaw(otlp: Any) -> str | None:
    """What is wrong with it, never repeating it: an address may hold a secret."""
    if not isinstance(otlp, str):
        return "must be an address, such as http://127.0.0.1:4318"
    if "@" in otlp.partition("://")[2].partition("/")[0]:
        return f"holds a user or password, which would show in logs; give a header in the variable {HEADERS}"
    flaw = url_flaw(otlp)
    if flaw:
        return flaw
    parts = urlsplit(otlp)
    if parts.query or parts.fragment or "?" in otlp or "#" in otlp:
        return f"must be an address alone; what a collector wants beside it goes into the variable {HEADERS}"
    if parts.path.rstrip("/").endswith(("/v1/traces", "/v1/metrics")):
        return "must be the collector's address without /v1/traces: spans and metrics have paths of their own below it"
    return None


def _place(text: str) -> tuple[str, int] | str:
    """The host and the port; else what is wrong."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) <= HIGHEST_PORT:
        return f"must be an address of this machine and a port from 1 to {HIGHEST_PORT}, such as 127.0.0.1:9464"
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return "must have an address of IPv6 in brackets, such as [::1]:9464"
    if not host or any(letter.isspace() or letter in "/@[]" for letter in host):
        return "must name an address of this machine before the port, such as 127.0.0.1:9464"
    return host, int(port)
