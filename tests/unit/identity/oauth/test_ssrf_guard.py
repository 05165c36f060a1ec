"""Where a login may lead."""

import pytest

from bascule.identity.oauth.ssrf_guard import (
    Reach,
    literal_address,
    may_connect,
    may_resolve_to,
    peer_address,
    reach_of,
    url_refusal,
)


@pytest.mark.parametrize(
    ("url", "peer", "reach"),
    [
        ("https://mcp.example/mcp", "93.184.216.34", Reach.PUBLIC),
        ("https://mcp.example/mcp", "10.1.2.3", Reach.PRIVATE),
        ("https://mcp.example/mcp", "fd00::1", Reach.PRIVATE),
        ("https://mcp.example/mcp", "::ffff:10.1.2.3", Reach.PRIVATE),
        ("https://mcp.example/mcp", "127.0.0.1", Reach.PUBLIC),
        ("https://mcp.example/mcp", "::1", Reach.PUBLIC),
        ("https://mcp.example/mcp", "::ffff:127.0.0.1", Reach.PUBLIC),
        ("https://mcp.example/mcp", "169.254.169.254", Reach.PUBLIC),
        ("https://mcp.example/mcp", "", Reach.PUBLIC),
        ("https://localhost.example/mcp", "127.0.0.1", Reach.PUBLIC),
        ("https://[", "127.0.0.1", Reach.PUBLIC),
        ("http://localhost:8/mcp", "", Reach.LOOPBACK),
        ("http://app.localhost:8/mcp", "", Reach.LOOPBACK),
        ("http://127.0.0.1:8/mcp", "", Reach.LOOPBACK),
        ("http://[::1]:8/mcp", "", Reach.LOOPBACK),
        ("https://10.1.2.3/mcp", "", Reach.PRIVATE),
        ("https://10.1.2.3/mcp", "127.0.0.1", Reach.PRIVATE),
        ("https://93.184.216.34/mcp", "10.1.2.3", Reach.PUBLIC),
    ],
)
def test_a_login_goes_as_near_as_its_challenge_came_from_and_a_name_never_to_the_loopback(
    url: str, peer: str, reach: Reach
):
    assert reach_of(url, peer) is reach


@pytest.mark.parametrize(
    ("peername", "address"),
    [
        (("127.0.0.1", 8), "127.0.0.1"),
        (("fe80::1%eth0", 8, 0, 2), "fe80::1"),
        (("::1", 8, 0, 0), "::1"),
        ("", ""),
        (None, ""),
        (("localhost", 8), ""),
    ],
)
def test_the_peer_address_is_that_of_an_ip_socket(peername: object, address: str):
    assert peer_address(peername) == address


@pytest.mark.parametrize(
    ("host", "address", "reach", "may"),
    [
        ("login.example", "127.0.0.1", Reach.LOOPBACK, False),
        ("login.example", "::1", Reach.LOOPBACK, False),
        ("login.example", "10.1.2.3", Reach.LOOPBACK, True),
        ("login.example", "10.1.2.3", Reach.PRIVATE, True),
        ("login.example", "10.1.2.3", Reach.PUBLIC, False),
        ("login.example", "93.184.216.34", Reach.PUBLIC, True),
        ("localhost", "127.0.0.1", Reach.LOOPBACK, True),
        ("localhost", "127.0.0.1", Reach.PRIVATE, False),
        ("app.localhost", "::1", Reach.LOOPBACK, True),
    ],
)
def test_a_name_resolves_to_the_loopback_only_if_it_is_localhost(host: str, address: str, reach: Reach, may: bool):
    assert may_resolve_to(host, address, reach) is may


PRIVATE = ["10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "2002:7f00:1::"]
NOBODYS = ["169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.0", "::", "::ffff:169.254.169.254"]


@pytest.mark.parametrize("address", [*PRIVATE, *LOOPBACK, *NOBODYS])
def test_a_public_server_leads_to_public_addresses_only(address: str):
    assert not may_connect(address, Reach.PUBLIC)
    assert may_connect("93.184.216.34", Reach.PUBLIC)


def test_a_private_server_may_lead_to_its_neighbours_but_not_into_this_machine():
    assert all(may_connect(address, Reach.PRIVATE) for address in ["93.184.216.34", *PRIVATE])
    assert not any(may_connect(address, Reach.PRIVATE) for address in [*LOOPBACK, *NOBODYS])


def test_a_server_on_this_machine_may_lead_anywhere_but_to_the_link():
    assert all(may_connect(address, Reach.LOOPBACK) for address in [*PRIVATE, *LOOPBACK])
    assert not any(may_connect(address, Reach.LOOPBACK) for address in NOBODYS)


@pytest.mark.parametrize(
    ("url", "reach", "why"),
    [
        ("https://login.example/a", Reach.PUBLIC, ""),
        ("http://127.0.0.1:8/a", Reach.LOOPBACK, ""),
        ("http://localhost:8/a", Reach.LOOPBACK, ""),
        ("http://login.example/a", Reach.LOOPBACK, "not https"),
        ("http://10.0.0.1/a", Reach.LOOPBACK, "not https"),
        ("ftp://login.example", Reach.PUBLIC, "not https"),
        ("javascript:alert(1)", Reach.LOOPBACK, "names no host"),
        ("https://u:p@login.example/", Reach.PUBLIC, "password"),
        ("https://127.0.0.1/", Reach.PUBLIC, "our own network"),
        ("https://app.localhost/", Reach.PRIVATE, "our own network"),
        ("https://[::1]/", Reach.PUBLIC, "our own network"),
        ("https://10.0.0.1/", Reach.PUBLIC, "our own network"),
        ("https://169.254.169.254/", Reach.LOOPBACK, "our own network"),
        ("https://[::1", Reach.PUBLIC, "cannot be read"),
        ("https://a:b:c/", Reach.PUBLIC, "cannot be read"),
    ],
)
def test_each_url_is_looked_at(url: str, reach: Reach, why: str):
    refusal = url_refusal(url, reach)

    assert (why in refusal) if why else not refusal


def test_some_names_mean_the_same_everywhere():
    assert literal_address("localhost") == "127.0.0.1"
    assert literal_address("::1") == "::1"
    assert literal_address("login.example") is None
