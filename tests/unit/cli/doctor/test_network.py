"""Health checks of listening addresses."""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.cli.doctor.network import dashboard_checks, gateway_checks, listener_at, port_check, telemetry_checks
from bascule.cli.serve import dashboard
from bascule.config.model.gateway import DashboardSettings, GatewaySettings
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.model.telemetry import TelemetrySettings
from bascule.config.secret import Secret
from support.ports import free_port


async def test_a_gateway_without_keys_is_for_this_machine_alone():
    config = RuntimeConfig({}, gateway=GatewaySettings(port=free_port()))
    place, keys = await gateway_checks(config)

    assert (place.status, keys.status) == ("ok", "ok")
    assert "`bascule serve --dev` alone" in keys.message


async def test_one_that_others_can_reach_needs_keys():
    config = RuntimeConfig({}, gateway=GatewaySettings(host="0.0.0.0", port=free_port()))
    _, keys = await gateway_checks(config)

    assert keys.status == "fail"


async def test_a_collector_that_is_not_there_is_a_warning():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = TelemetrySettings(otlp=f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert [check.status for check in await telemetry_checks(settings)] == ["ok"]
    assert [check.status for check in await telemetry_checks(settings)] == ["warn"]
    assert await telemetry_checks(TelemetrySettings()) == []


def test_a_process_that_listens_is_found_by_its_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = listener_at(listening.getsockname()[1])

        assert found is not None
        assert found.pid == os.getpid()
        assert not found.ours


def test_a_port_that_is_taken_is_told_with_who_has_it():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        taken = port_check("gateway", "gateway.port", "127.0.0.1", port)

        assert (taken.status, str(os.getpid()) in taken.evidence) == ("fail", True)
        assert port_check("gateway", "gateway.port", "127.0.0.1", port, needed=False).status == "warn"
    assert port_check("gateway", "gateway.port", "127.0.0.1", port).status == "ok"


def test_an_address_of_another_machine_is_told():
    found = port_check("gateway", "gateway.port", "192.0.2.1", 8470)

    assert found.message == "192.0.2.1 is no address of this machine"
    assert "`gateway.host`" in found.fix


PLAIN = RuntimeConfig(servers={})


def said(folder: Path, config: RuntimeConfig = PLAIN) -> list[tuple[str, str]]:
    return [(check.status, check.message) for check in dashboard_checks(config, {"BASCULE_HOME": str(folder)})]


def token_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    keys = folder / "keys"
    keys.mkdir(mode=0o700)
    path = keys / "dashboard.token"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_where_there_is_none_there_is_nothing_to_check(tmp_path: Path):
    config = replace(PLAIN, dashboard=DashboardSettings(enabled=False), gateway=GatewaySettings(host="0.0.0.0"))

    assert said(tmp_path, config) == [("ok", "there is none: `dashboard.enabled` is false")]


def test_what_is_not_installed_is_in_order_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dashboard, "NEEDS", ("no_such_module",))

    assert said(tmp_path) == [("ok", "no dashboard: its extra is not installed")]


def test_a_token_is_not_made_by_looking(tmp_path: Path):
    assert said(tmp_path) == [("ok", "its token is made when it is first served")]
    assert [*tmp_path.iterdir()] == []


def test_it_is_told_where_the_token_is_and_not_what_it_is(tmp_path: Path):
    path = token_file(tmp_path, "0123456789abcdef-token")
    own = replace(PLAIN, dashboard=DashboardSettings(token=Secret("my-own-token-of-many-signs")))

    assert said(tmp_path) == [("ok", f"its token is in {path}")]
    assert said(tmp_path, own) == [("ok", "its token is under `dashboard.token` in the config")]


@pytest.mark.parametrize(("text", "mode"), [("0123456789abcdef-token", 0o640), ("short", 0o600)])
def test_a_token_that_is_not_used_is_a_fault(tmp_path: Path, text: str, mode: int):
    token_file(tmp_path, text, mode)
    ((status, message),) = said(tmp_path)

    assert status == "fail"
    assert message.startswith("BSC-650 ")
    assert text not in message


@pytest.mark.parametrize(
    ("host", "warned"), [("127.0.0.1", 0), ("::1", 0), ("localhost", 0), ("0.0.0.0", 1), ("10.0.0.7", 1), ("box", 1)]
)
def test_who_can_reach_it_from_elsewhere_is_worth_a_word(tmp_path: Path, host: str, warned: int):
    found = dashboard_checks(replace(PLAIN, gateway=GatewaySettings(host=host)), {"BASCULE_HOME": str(tmp_path)})

    assert [check.evidence for check in found if check.status == "warn"] == [f"gateway.host: {host}"] * warned
