"""Addresses: which can be reached, and what of them may be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.urls import (
    is_in_clear,
    postgres_url_flaw,
    scheme_of,
    secrets_in_url,
    shown_store,
    shown_url,
    socket_and_path,
    unix_url_flaw,
    url_flaw,
    ws_url_flaw,
)


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


@pytest.mark.parametrize("url", ["ws://a.test/x", "wss://a.test:8443/x?y=1", "ws://[::1]:9/", "WSS://a.test"])
def test_websockets_we_can_reach(url: str):
    assert ws_url_flaw(url) is None
    assert url_flaw(url) == "must begin with https:// or http://"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://a.test/x", "must begin with wss:// or ws://"),
        ("ws://", "names no host; write wss://host/path"),
        ("ws://a b.test", "is not an address"),
        ("ws://a.test/#x", "fragment"),
        ("ws://a.test/#", "fragment"),
        ("ws://user:hunter2@a.test/", "user or password"),
        ("ws://user@a.test/", "user or password"),
        ("ws://a.test/?access_token=hunter2", "holds a credential"),
        ("ws://a.test/?apiKey=", "holds a credential"),
        ("ws://a.test/?x=1&q=ghp_0123456789abcdef0123", "holds a credential"),
    ],
)
def test_a_websocket_address_carries_nothing_but_the_way(url: str, word: str):
    flaw = ws_url_flaw(url)

    assert flaw is not None
    assert word in flaw
    assert "hunter2" not in flaw
    assert "ghp_" not in flaw


@pytest.mark.parametrize(
    ("url", "socket", "path"),
    [
        ("unix:///run/x.sock", "/run/x.sock", "/mcp"),
        ("unix:///run/x.sock:/", "/run/x.sock", "/"),
        ("unix:///run/x.sock:/a/b?c=d", "/run/x.sock", "/a/b?c=d"),
        ("unix:///run/my%20own.sock", "/run/my own.sock", "/mcp"),
        ("unix:///run/a%3A/b:/c", "/run/a:/b", "/c"),
        ("unix:///run/a:b", "/run/a:b", "/mcp"),
    ],
)
def test_socket_files_we_can_reach(url: str, socket: str, path: str):
    assert unix_url_flaw(url) is None
    assert socket_and_path(url) == (socket, path)


@pytest.mark.parametrize(
    "url",
    [
        "unix:x.sock",
        "unix://x.sock",
        "unix://run/x.sock",
        "unix://user:hunter2@/run/x.sock",
        "unix:///",
        "unix:///run/",
        "unix:///run/:/mcp",
        "unix:///run/x.sock#a",
        "unix:///run/x.sock?a=b",
        "unix:///run/x%00.sock",
        "unix:///run/x .sock",
        "unix:///" + "x" * 107,
        "http://[::1",
        "/run/x.sock",
        "",
    ],
)
def test_what_is_no_socket_file_is_refused(url: str):
    flaw = unix_url_flaw(url)

    assert flaw is not None
    assert "hunter2" not in flaw


def test_the_scheme_of_what_has_none_is_empty():
    assert [scheme_of(url) for url in ("WSS://a.test", "a.test/x", "http://[::1")] == ["wss", "", ""]


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
        ("wss://a.test/mcp?a=b", "wss://a.test/mcp?a=[secret]"),
        ("unix:///run/x.sock:/mcp?a=b", "unix:///run/x.sock:/mcp?a=[secret]"),
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
        ("ws://a.test/", True),
        ("wss://a.test/", False),
        ("ws://localhost/", False),
        ("unix:///run/x.sock", False),
    ],
)
def test_what_travels_in_clear_is_known(url: str, clear: bool):
    assert is_in_clear(url) is clear


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://db/state", "postgresql://db/state"),
        ("postgres://me@db.test:5433/state", "postgres://db.test:5433/state"),
        ("postgresql://me:hunter2@db/state?sslmode=verify-full&password=hunter2", "postgresql://db/state"),
        ("postgresql://me:hunter%402@one:5432,two:5433/state", "postgresql://one:5432,two:5433/state"),
        ("postgresql://me:hunter2@[::1]:5432/state", "postgresql://[::1]:5432/state"),
        ("postgresql:///state", "postgresql:///state"),
        ("postgresql://me@%2Frun%2Fpostgresql/state", "postgresql://%2Frun%2Fpostgresql/state"),
    ],
)
def test_a_database_is_named_by_its_address_and_shown_without_who_asks(url: str, shown: str):
    assert postgres_url_flaw(url) is None
    assert shown_store(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db",
        "postgresql://db/",
        "postgresql:///",
        "postgresql://db/a/b",
        "postgresql://me:hunter2@2@db/state",  # the rest of the password would be taken for a host
        "postgresql://me:hun/ter2@db/state",  # and here for the name of the database
        "postgresql://me:12hunter2/state",  # and here for a port
        "postgresql://db/state#hunter2",
        "postgresql://db/my state",
        "POSTGRESQL://db/state",
        "postgresql://" + "a" * 100_000 + "!",
    ],
)
def test_what_does_not_name_a_database_is_told_without_repeating_it(url: str):
    flaw = postgres_url_flaw(url)

    assert flaw is not None
    assert "hunter2" not in flaw


@pytest.mark.parametrize("path", ["state.db", "/var/lib/bascule.db", "sqlite:///var/lib/bascule.db"])
def test_a_file_is_shown_as_it_is(path: str):
    assert shown_store(path) == path


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://h/mcp", ()),
        ("https://h/mcp?page=3&region=eu", ()),
        ("https://h/mcp?api_key=a%2Fb+c", ("a/b c", "a/b%20c", "a%2Fb+c")),
        ("https://h/mcp?hunter22", ("hunter22",)),
        ("https://h/s/abcdefghijklmnop1234567/mcp", ("abcdefghijklmnop1234567",)),
        ("https://h:x", ()),
        ("unix:///tmp/abcdefghijklmnop1234567/x.sock", ()),
        ("unix:///x.sock:/abcdefghijklmnop1234567", ("abcdefghijklmnop1234567",)),
    ],
)
def test_secrets_in_an_address_are_found(url: str, found: tuple[str, ...]):
    assert secrets_in_url(url) == found
