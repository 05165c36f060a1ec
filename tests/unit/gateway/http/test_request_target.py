"""Request targets, and the server that they name."""

import pytest

from bascule.gateway.http.request_target import Authority, BadTarget, parts_of, server_named_by


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (b"/mcp", ("/mcp", b"/mcp", b"", None)),
        (b"/a%20b?q=1", ("/a b", b"/a%20b", b"q=1", None)),
        (b"//evil.test/mcp", ("//evil.test/mcp", b"//evil.test/mcp", b"", None)),
        (b"*", ("*", b"*", b"", None)),
        (b"http://a.test", ("/", b"/", b"", Authority(b"http", b"a.test", 80))),
        (b"HTTPS://A.test:8/mcp?q", ("/mcp", b"/mcp", b"q", Authority(b"https", b"a.test", 8))),
        (b"http://[::1]:8/mcp", ("/mcp", b"/mcp", b"", Authority(b"http", b"::1", 8))),
    ],
)
def test_a_target_has_a_path_a_query_and_perhaps_a_server(
    target: bytes, parts: tuple[str, bytes, bytes, Authority | None]
):
    assert parts_of(target) == parts


@pytest.mark.parametrize("target", [b"", b"http:///mcp", b"a.test:80", b"ftp://a.test/", b"http://u:p@a.test/"])
def test_what_names_no_http_server_is_no_target(target: bytes):
    with pytest.raises(BadTarget, match="the request target is"):
        parts_of(target)


@pytest.mark.parametrize(
    ("host", "server"),
    [
        (b"a.test", Authority(b"http", b"a.test", 80)),
        (b"A.TEST:80", Authority(b"http", b"a.test", 80)),
        (b"a.test:0", Authority(b"http", b"a.test", 0)),
        (b"[::1]:8", Authority(b"http", b"::1", 8)),
        *((bad, None) for bad in (b"", b"u@a.test", b"a.test/", b"a.test?", b"a.test#b", b"a test", b"a.test:x")),
    ],
)
def test_a_host_header_names_a_server_or_nothing(host: bytes, server: Authority | None):
    assert server_named_by(host, b"http") == server
