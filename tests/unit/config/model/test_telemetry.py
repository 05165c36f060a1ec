import os
from pathlib import Path

import pytest

from bascule.config import TelemetrySettings, load_file
from bascule.core.errors import ConfigError


def test_it_is_off_unless_it_is_asked_for():
    assert not TelemetrySettings()
    assert TelemetrySettings(otlp="http://127.0.0.1:4318")
    assert TelemetrySettings(prometheus="127.0.0.1:9464")


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:1", ("::1", 1)),
        ("metrics.internal:65535", ("metrics.internal", 65535)),
    ],
)
def test_the_page_has_a_host_and_a_port(told: str, place: tuple[str, int]):
    assert TelemetrySettings(prometheus=told).page == place


@pytest.mark.parametrize(
    "told",
    ["", "9464", ":9464", "127.0.0.1", "::1:9464", "h:0", "h:65536", "h:x", "h:-1", "h:١", "a b:1", "http://h:1"],
)
def test_what_is_no_host_and_port_is_told(told: str):
    with pytest.raises(ConfigError, match="prometheus"):
        TelemetrySettings(prometheus=told)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("ftp://h", "must begin with"),
        ("collector:4318", "must begin with"),
        ("http://", "names no host"),
        ("http://h/x y", "is not an address"),
        ("http://h?key=hunter22", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("http://h#hunter22", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("http://me:hunter22@h:4318", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("http://h:4318/v1/traces", "without /v1/traces"),
        (5, "must be an address"),
    ],
)
def test_what_is_no_collector_is_told_and_never_repeated(told: str, words: str):
    with pytest.raises(ConfigError, match=words) as caught:
        TelemetrySettings(otlp=told)
    assert "hunter22" not in str(caught.value)


def test_each_worker_has_a_port_of_its_own():
    settings = TelemetrySettings("http://h:4318", "[::1]:9464")
    assert settings.of_worker(0) == settings
    assert settings.of_worker(3) == TelemetrySettings("http://h:4318", "[::1]:9467")
    assert TelemetrySettings("http://h:4318").of_worker(3) == TelemetrySettings("http://h:4318")
    with pytest.raises(ConfigError, match="port"):
        TelemetrySettings(prometheus="h:65535").of_worker(1)


def test_a_file_says_both(tmp_path: Path):
    file = tmp_path / "bascule.yaml"
    file.write_text(
        "mcp_servers: {a: {command: x}}\ntelemetry: {otlp: 'http://127.0.0.1:4318', prometheus: '[::1]:9464'}\n"
    )
    assert load_file(file, os.environ).telemetry == TelemetrySettings("http://127.0.0.1:4318", "[::1]:9464")


def test_what_is_wrong_in_a_file_is_told_with_its_place(tmp_path: Path):
    file = tmp_path / "bascule.yaml"
    file.write_text("mcp_servers: {a: {command: x}}\ntelemetry:\n  otlp: x\n  prometheus: 9464\n  promethus: y\n")
    with pytest.raises(ConfigError) as caught:
        load_file(file, os.environ)
    told = caught.value.evidence
    assert "telemetry.otlp" in told
    assert "telemetry.prometheus" in told
    assert "did you mean" in told
