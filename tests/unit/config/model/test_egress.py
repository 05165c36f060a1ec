"""Which hosts may be listed as receivers of private data."""

import re
from pathlib import Path
from typing import Any

import pytest

from bascule.config import load_file
from bascule.config.model.egress import Egress, egress_flaws, host_pattern
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


def problems(tmp_path: Path, content: str) -> list[str]:
    (tmp_path / "bascule.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_file(tmp_path / "bascule.yaml", {})
    return [problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_who_may_receive_is_read_and_checked(tmp_path: Path):
    (tmp_path / "bascule.yaml").write_text("mcp_servers: {}\negress: {allow: [API.example.org], ports: [8443]}\n")
    assert load_file(tmp_path / "bascule.yaml", {}).egress == Egress(("api.example.org",), (8443,))

    wrong = "mcp_servers: {}\negress:\n  allow: [ok.test, 'https://a.test']\n  ports: [0]\n"
    host, ports = problems(tmp_path, wrong)
    assert host.startswith("bascule.yaml:3: egress.allow[1]: must be the host alone")
    assert ports.startswith("bascule.yaml:4: egress.ports[0]: must be a whole number")


@pytest.mark.parametrize(
    ("host", "matches"),
    [
        ("a.test", True),
        ("x.b.test", True),
        ("x.y.b.test", True),
        ("b.test", False),
        ("xa.test", False),
        ("aXtest", False),
        ("", False),
    ],
)
def test_a_pattern_matches_hosts_in_full_and_a_wildcard_below_its_domain(host: str, matches: bool) -> None:
    assert bool(re.fullmatch(host_pattern(("a.test", "*.b.test")), host)) is matches
    assert not re.fullmatch(host_pattern(()), host)
