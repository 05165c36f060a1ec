"""Settings of the gateway and the dashboard."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config.loading.load import load_file
from bascule.config.model.gateway import DashboardSettings, GatewaySettings, place_flaws, worker_flaws
from bascule.config.secret import Secret
from bascule.config.secrets_in import secrets_in
from bascule.core.errors import ConfigError
from support.scenarios import write_yaml


def test_it_listens_on_this_machine_alone_unless_told_otherwise():
    assert (GatewaySettings().host, GatewaySettings().port) == ("127.0.0.1", 8470)
    assert GatewaySettings().auth.keys == ()


@pytest.mark.parametrize(
    ("host", "port", "wrong"),
    [
        ("", 1, "host"),
        ("a b", 1, "host"),
        ("http://a", 1, "host"),
        (None, 1, "host"),
        ("a", 0, "port"),
        ("a", 65536, "port"),
        ("a", True, "port"),
        ("a", "80", "port"),
    ],
)
def test_what_is_no_place_to_listen_at_is_refused(host: Any, port: Any, wrong: str):
    assert [flaw.path for flaw in place_flaws(host, port)] == [(wrong,)]
    with pytest.raises(ConfigError):
        GatewaySettings(host, port)


@pytest.mark.parametrize("workers", [0, -1, 257, True, "2", None])
def test_so_many_workers_are_not_to_be_had(workers: Any):
    assert [flaw.path for flaw in worker_flaws(workers)] == [("workers",)]
    with pytest.raises(ConfigError):
        GatewaySettings(workers=workers)


def read(folder: Path, **dashboard: object) -> DashboardSettings:
    return load_file(write_yaml(folder, {}, dashboard=dashboard), {}).dashboard


def test_there_is_one_whose_token_is_made_here_unless_the_file_says_otherwise(tmp_path: Path):
    assert read(tmp_path) == DashboardSettings() == DashboardSettings(enabled=True, token=None)
    assert read(tmp_path, enabled=False) == DashboardSettings(enabled=False)
    assert read(tmp_path, token="auto").token is None


def test_a_token_that_was_chosen_is_a_secret(tmp_path: Path):
    token = "a-token-of-one's-own"
    config = load_file(write_yaml(tmp_path, {}, dashboard={"token": token}), {})
    assert config.dashboard.token == Secret(token)
    assert token not in repr(config)
    assert token in set(secrets_in(config))


@pytest.mark.parametrize(
    "token", ["", "short", "fifteen-letters", "with a space in its middle", "ünïcödé-is-nothing-here"]
)
def test_a_token_that_is_short_or_unfit_is_refused(token: str):
    with pytest.raises(ConfigError, match="token"):
        DashboardSettings(token=Secret(token))
