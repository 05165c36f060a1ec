from typing import Any

import pytest

from bascule.config.model.gateway import GatewaySettings, place_flaws, worker_flaws
from bascule.core.errors import ConfigError


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
