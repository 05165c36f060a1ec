"""Which way the address and the word for the transport choose together."""

import pytest

from bascule.config.model.transport import (
    SseTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.model.transport_choice import remote_flaws, remote_kind, remote_transport

FITTING = {
    ("https://a.test", "auto"): StreamableHttpTransport("https://a.test", {"A": "b"}),
    ("https://a.test", "http"): StreamableHttpTransport("https://a.test", {"A": "b"}, "http"),
    ("https://a.test", "sse"): SseTransport("https://a.test", {"A": "b"}),
    ("wss://a.test", "auto"): WebSocketTransport("wss://a.test", {"A": "b"}),
    ("ws://a.test", "ws"): WebSocketTransport("ws://a.test", {"A": "b"}),
    ("unix:///a", "auto"): UnixSocketTransport("unix:///a", {"A": "b"}),
    ("unix:///a", "http"): UnixSocketTransport("unix:///a", {"A": "b"}),
}


@pytest.mark.parametrize(("url", "choice"), FITTING)
def test_what_fits_together_becomes_a_transport(url: str, choice: str):
    transport = FITTING[url, choice]

    assert list(remote_flaws(url, {"A": "b"}, choice)) == []
    assert remote_transport(url, {"A": "b"}, choice) == transport
    assert remote_kind(url, choice) == transport.kind


@pytest.mark.parametrize(
    ("url", "choice", "right"),
    [
        ("https://a.test", "ws", "wss:// or ws://"),
        ("wss://a.test", "http", "https://, http:// or unix://"),
        ("ws://a.test", "sse", "https:// or http://"),
        ("unix:///a", "ws", "wss:// or ws://"),
        ("unix:///a", "sse", "https:// or http://"),
    ],
)
def test_what_does_not_is_told_with_what_would(url: str, choice: str, right: str):
    (flaw,) = remote_flaws(url, {}, choice)

    assert flaw.path == ("transport",)
    assert flaw.text.startswith(f"says {choice}, but the address begins with {url.partition(':')[0]}://")
    assert flaw.text.endswith(f"for {choice} it is {right}")


@pytest.mark.parametrize("url", ["ftp://a.test", "a.test:80/mcp"])
def test_a_scheme_nobody_knows_is_told_with_those_we_do(url: str):
    (flaw,) = remote_flaws(url, {}, "auto")

    assert (flaw.path, flaw.text) == (("url",), "must begin with https://, http://, wss://, ws:// or unix://")


def test_what_is_no_address_is_told_in_the_words_of_the_chosen_way():
    assert [flaw.text for flaw in remote_flaws("a.test", {}, "ws")] == ["must begin with wss:// or ws://"]
    assert [flaw.text for flaw in remote_flaws(None, {}, "auto")] == ["must be text"]


def test_headers_are_looked_at_whatever_the_way():
    for url in ("https://a.test", "ws://a.test", "unix:///a"):
        assert [flaw.path for flaw in remote_flaws(url, {"a b": "c"}, "auto")] == [("headers", "a b")]
