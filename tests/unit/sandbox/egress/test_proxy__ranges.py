"""Which addresses are never connected to."""

from ipaddress import ip_address, ip_network

import pytest

from bascule.sandbox.egress.proxy import CLOSED, closed_ranges, is_closed

NOT_THE_INTERNET = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.8.8", "168.63.129.16", "169.254.169.254",
    "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.88.99.1", "192.168.1.1", "198.18.0.1", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2002:7f00:1::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fec0::1", "ff02::1", "3fff::1", "4000::1", "8000::1",
]  # fmt: skip

THE_INTERNET = ["1.1.1.1", "8.8.8.8", "9.255.255.255", "172.32.0.1", "192.169.0.1", "2606:4700:4700::1111", "2a00::1"]


@pytest.mark.parametrize("address", NOT_THE_INTERNET)
def test_what_is_not_the_internet_is_closed(address: str):
    assert is_closed(address)


@pytest.mark.parametrize("address", THE_INTERNET)
def test_the_internet_is_not(address: str):
    assert not is_closed(address)


def test_what_python_calls_private_is_closed_or_leads_nowhere():
    documentation = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")
    private = [text for text in (*NOT_THE_INTERNET, *THE_INTERNET) if ip_address(text).is_private]

    assert all(is_closed(text) for text in private if not text.startswith(documentation))


def test_an_address_of_this_machine_is_closed_by_itself():
    assert closed_ranges(["8.8.4.4", "2a00::5"]) == (*CLOSED, "2a00::5/128", "8.8.4.4/32")


def test_one_that_is_closed_anyway_is_not_listed_again():
    assert closed_ranges(["127.0.0.1", "10.1.2.3", "::1", "fe80::5"]) == CLOSED


def test_every_range_is_one():
    assert [str(ip_network(text)) for text in CLOSED] == list(CLOSED)
