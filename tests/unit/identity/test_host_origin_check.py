"""Who is let in, told from what a request says of itself."""

from typing import Any

import pytest

from bascule.identity.host_origin_check import HouseRules, Knock, origin_of


def turned_away(rules: HouseRules, *, client: Any = None, server: Any = None, host: str = "localhost") -> int | None:
    """The status with which a request is turned away, if it is."""
    refusal = rules.turn_away(Knock([host], [], "http", client, server))
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    ("client", "status"),
    [
        (("127.0.0.1", 1), None),
        (("127.8.9.1", 1), None),
        (["::1", 1], None),
        (("::ffff:127.0.0.1", 1), None),
        (("192.0.2.7", 1), 403),
        (("::ffff:192.0.2.7", 1), 403),
        (("localhost", 1), 403),
        (("testclient", 1), 403),
        (("", 0), 403),
        ((), 403),
        (None, 403),
    ],
)
def test_where_one_user_stands_for_everybody_everybody_must_be_here(client: Any, status: int | None) -> None:
    assert turned_away(HouseRules(loopback_only=True), client=client) == status
    assert turned_away(HouseRules(), client=client) is None


@pytest.mark.parametrize(
    ("server", "host", "status"),
    [
        (("192.0.2.7", 80), "192.0.2.7", None),
        (("192.0.2.7", 80), "192.0.2.8", 421),
        (("2001:db8::7", 80), "[2001:db8::7]:80", None),
        (("/run/records.sock", None), "localhost", None),
        (("/run/records.sock", None), "/run/records.sock", 421),
        (None, "192.0.2.7", 421),
        (None, "localhost:port", 421),
        (None, "[::1", 421),
        (None, "localhost/x", 421),
    ],
)
def test_it_may_be_called_by_the_address_at_which_it_listens(server: Any, host: str, status: int | None) -> None:
    assert turned_away(HouseRules(), server=server, host=host) == status


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://App.Example", "https://app.example:443"),
        ("http://app.example:80/", "http://app.example:80"),
        ("http://[::1]:7", "http://::1:7"),
        ("null", None),
        ("https://app.example/path", None),
        ("https://app.example?x", None),
        ("https://app.example:port", None),
        ("file:///etc/passwd", None),
        ("chrome-extension://abc", None),
        ("https://[::1", None),
        ("*", None),
    ],
)
def test_an_origin_is_scheme_name_and_port(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin
