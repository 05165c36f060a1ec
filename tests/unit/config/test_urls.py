"""Addresses: which can be reached, and what of them may be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.urls import is_in_clear, shown_url, url_flaw


@pytest.mark.parametrize(
    "url",
    [
        "https://mcp.example.com/mcp",
        "http://127.0.0.1:8000/mcp",
        "http://[::1]:9/",
        "https://a.test/?x=1",
        "HTTPS://a.test",
    ],
)
def test_addresses_we_can_reach(url: str):
    assert url_flaw(url) is None


@pytest.mark.parametrize("url", ["ws://a.test/x", "wss://a.test/x", "unix:///run/a.sock"])
def test_schemes_of_later_versions_are_said_to_be_not_available(url: str):
    assert "is not available in this version" in (url_flaw(url) or "")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/mcp",
        "ftp://a.test",
        "https://",
        "https:///mcp",
        "https://a b.test",
        "https://a.test:x/",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused(url: str):
    assert url_flaw(url)


def test_a_line_break_is_no_part_of_an_address():
    assert url_flaw("https://a.test/\r\nX: y")


def test_a_password_in_an_address_is_refused_and_not_repeated():
    flaw = url_flaw("https://user:hunter2@a.test/")

    assert flaw is not None
    assert "headers" in flaw
    assert "hunter2" not in flaw


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.test/mcp", "https://a.test/mcp"),
        ("https://a.test:8443/mcp?key=abc&x=", "https://a.test:8443/mcp?key=[secret]&x=[secret]"),
        ("https://a.test/mcp?abc", "https://a.test/mcp?[secret]"),
        ("https://u:p@a.test/mcp", "https://a.test/mcp"),
        ("https://a.test/s/NjZkYjk2Yzg5ZjRkNGY5/mcp", "https://a.test/s/[secret]/mcp"),
        ("https://a.test/mcp#abc", "https://a.test/mcp"),
        ("nonsense", "[secret]"),
        ("http://[::1", "[secret]"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str):
    assert shown_url(url) == shown


@given(st.text(alphabet="ÄÖÜÞ", min_size=1))
def test_no_value_of_a_query_is_shown(value: str):
    assert value not in shown_url(f"https://a.test/mcp?key={value}&other={value}")


@pytest.mark.parametrize(
    ("url", "clear"),
    [
        ("http://a.test/", True),
        ("https://a.test/", False),
        ("http://localhost:1/", False),
        ("http://127.0.0.9/", False),
        ("http://[::1]:2/", False),
        ("http://127.example.com/", True),
        ("http://[::1", False),
    ],
)
def test_what_travels_in_clear_is_known(url: str, clear: bool):
    assert is_in_clear(url) is clear
