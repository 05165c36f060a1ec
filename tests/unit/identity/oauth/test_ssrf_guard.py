"""Where a login may lead."""

import pytest

from bascule.identity.oauth.ssrf_guard import Reach, literal_address, may_connect, reach_of, url_refusal


@pytest.mark.parametrize(
    ("addresses", "reach"),
    [
        (["93.184.216.34"], Reach.PUBLIC),
        (["10.1.2.3"], Reach.PRIVATE),
        (["fd00::1"], Reach.PRIVATE),
        (["127.0.0.1"], Reach.LOOPBACK),
        (["::1", "127.0.0.1"], Reach.LOOPBACK),
        (["127.0.0.1", "93.184.216.34"], Reach.PUBLIC),
        (["169.254.169.254"], Reach.PUBLIC),
        ([], Reach.PUBLIC),
    ],
)
def test_a_server_is_as_near_as_its_farthest_address(addresses: list[str], reach: Reach):
    assert reach_of(addresses) is reach


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
