"""Which hosts may be listed as receivers of private data."""

from typing import Any

import pytest

from bascule.config.egress import Egress, egress_flaws
from bascule.core.errors import ConfigError


def test_nothing_gets_through_by_default() -> None:
    assert Egress().allow == ()
    assert Egress().ports == (80, 443)


def test_hosts_are_kept_in_one_form() -> None:
    assert Egress(("API.Example.org.", "*.Internal.Test")).allow == ("api.example.org", "*.internal.test")


@pytest.mark.parametrize(
    "host",
    [
        "",
        3,
        "*",
        "*.*.example.org",
        "a.*.org",
        "*example.org",
        "https://example.org",
        "example.org:443",
        "example.org/x",
        "127.0.0.1",
        "[::1]",
        "::1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "exa mple.org",
        "-a.org",
        "a..org",
        "a" * 300,
    ],
)
def test_what_is_no_host_is_refused(host: Any) -> None:
    assert len(list(egress_flaws([host], [443]))) == 1


@pytest.mark.parametrize("ports", [[], [0], [65536], ["443"], [True], 443, None])
def test_what_is_no_list_of_ports_is_refused(ports: Any) -> None:
    assert [flaw.path for flaw in egress_flaws([], ports)] == [("ports",)]


def test_what_is_no_list_of_hosts_is_refused() -> None:
    with pytest.raises(ConfigError, match="list of hosts"):
        Egress("example.org")  # type: ignore[arg-type]
