import pytest
from yarl import URL

from bascule.core.errors import ConnectFailed
from bascule.transports.http.address import (
    base_headers,
    message_url,
    origin,
    parse_url,
    redirect_target,
    shown,
    socket_address,
    too_many_redirects,
    upgrade_headers,
)

HERE = URL("https://h.test/mcp")


@pytest.mark.parametrize("url", ["http://h.test/mcp", "https://h.test:8443/a?b=c", "http://[::1]:8000/mcp"])
def test_http_and_https_are_accepted(url: str):
    assert str(parse_url(url)) == url


@pytest.mark.parametrize(
    "url", ["ftp://h.test/", "file:///etc/passwd", "h.test/mcp", "", "http://", "https:///mcp", "http://h.test:99999/"]
)
def test_anything_else_is_refused(url: str):
    with pytest.raises(ConnectFailed) as failed:
        parse_url(url)

    assert failed.value.fix
    assert not failed.value.sent


@pytest.mark.parametrize("url", ["https://me:secret@h.test/", "https://me@h.test/", "https://:secret@h.test/"])
def test_credentials_in_a_url_are_refused_and_never_shown(url: str):
    with pytest.raises(ConnectFailed, match="credentials") as failed:
        parse_url(url)

    assert "secret" not in f"{failed.value} {failed.value.evidence}"


def test_a_query_is_sent_but_never_shown():
    url = parse_url("https://h.test/mcp?api_key=secret")

    assert url.query["api_key"] == "secret"
    assert shown(url) == "https://h.test/mcp?…"


def test_another_pair_of_schemes_can_be_asked_for():
    assert str(parse_url("wss://h.test/x", ("ws", "wss"))) == "wss://h.test/x"
    with pytest.raises(ConnectFailed, match="not one of ws or wss") as failed:
        parse_url("https://h.test/x", ("ws", "wss"))
    assert failed.value.fix == "write it as wss://host/path"


def test_a_socket_file_is_shown_with_what_is_asked_for_there():
    assert socket_address("/run/x.sock", URL("http://localhost/mcp")) == "unix:///run/x.sock:/mcp"
    assert socket_address("/run/x.sock", URL("http://localhost/mcp?key=secret")) == "unix:///run/x.sock:/mcp?…"


@pytest.mark.parametrize("name", ["Sec-WebSocket-Key", "sec-websocket-extensions", "Upgrade", "connection"])
def test_what_opens_a_websocket_is_set_by_the_transport_alone(name: str):
    with pytest.raises(ConnectFailed, match="by the transport alone"):
        upgrade_headers({name: "x"})


def test_a_websocket_is_asked_for_without_words_that_are_about_replies():
    assert dict(upgrade_headers({"X-Key": "k", "Accept": "text/html"})) == {
        "X-Key": "k",
        "Accept-Encoding": "identity",
        "User-Agent": "bascule",
    }


def test_an_origin_names_only_a_port_that_is_not_the_usual_one():
    assert origin(URL("http://h.test:80/a")) == origin(URL("http://h.test/b")) == "http://h.test"
    assert origin(URL("http://[::1]:8000/")) == "http://[::1]:8000"


def test_the_transports_own_headers_win_over_configured_ones():
    headers = base_headers({"accept": "text/html", "ACCEPT-ENCODING": "gzip", "mcp-session-id": "x", "X-Key": "k"})

    assert headers["Accept"] == "application/json, text/event-stream"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["X-Key"] == "k"
    assert "Mcp-Session-Id" not in headers
    assert len(headers.getall("Accept")) == 1


def test_a_configured_user_agent_is_kept():
    assert base_headers({"user-agent": "mine"}).getall("User-Agent") == ["mine"]


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Expect", "content-encoding"])
def test_a_header_that_decides_where_a_message_ends_is_refused(name: str):
    with pytest.raises(ConnectFailed, match=name):
        base_headers({name: "1"})


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\0b", "a\x7f"], ids=repr)
def test_a_header_value_that_would_start_another_header_is_refused_and_not_shown(value: str):
    with pytest.raises(ConnectFailed) as failed:
        base_headers({"X-Key": value})

    assert value not in failed.value.evidence


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\r\nb", "ä"])
def test_a_header_name_that_is_none_is_refused(name: str):
    with pytest.raises(ConnectFailed):
        base_headers({name: "v"})


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    "location", ["/mcp/", "https://h.test/mcp/", "https://h.test:443/mcp/", "mcp/", "//h.test/mcp/"]
)
def test_a_redirect_within_the_server_keeps_the_body(status: int, location: str):
    assert redirect_target(URL("https://h.test/"), status, location).path == "/mcp/"


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.test/mcp",
        "http://h.test/mcp",
        "https://h.test:444/mcp",
        "//evil.test/mcp",
        "https://h.test.evil.test/",
    ],
)
@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_to_another_server_names_both(location: str, status: int):
    with pytest.raises(ConnectFailed) as failed:
        redirect_target(HERE, status, location)

    assert "https://h.test" in failed.value.message
    assert origin(HERE.join(URL(location))) in failed.value.message


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_lose_the_body_says_which_url_to_use(status: int):
    with pytest.raises(ConnectFailed) as failed:
        redirect_target(HERE, status, "/mcp/")

    assert failed.value.fix == "use URL https://h.test/mcp/"


@pytest.mark.parametrize("location", [None, "", "http://[", "https://me:pw@h.test/mcp"])
def test_a_redirect_without_a_usable_target_is_refused(location: str | None):
    with pytest.raises(ConnectFailed):
        redirect_target(HERE, 307, location)


def test_a_target_with_another_scheme_is_another_server():
    with pytest.raises(ConnectFailed):
        redirect_target(HERE, 307, "file:///etc/passwd")


def test_a_loop_of_redirects_is_told():
    assert "more than 3 times" in str(too_many_redirects(HERE, 3))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_whoever_only_asks_may_follow_any_redirect_on_the_same_server(status: int):
    assert redirect_target(HERE, status, "/sse/", asking=True) == URL("https://h.test/sse/")
    with pytest.raises(ConnectFailed, match="another server"):
        redirect_target(HERE, status, "https://other.test/sse/", asking=True)


@pytest.mark.parametrize(
    ("told", "url"),
    [
        (b"/messages?s=a%2Fb%2Bc", "https://h.test/messages?s=a%2Fb%2Bc"),
        (b"messages/", "https://h.test/messages/"),
        (b"?s=1", "https://h.test/mcp?s=1"),
        (b"https://h.test:443/m", "https://h.test/m"),
        (b" /m ", "https://h.test/m"),
    ],
)
def test_messages_go_where_the_server_says_on_the_same_server(told: bytes, url: str):
    found = message_url(HERE, told)
    assert (origin(found), found.raw_path_qs) == (origin(URL(url)), url.removeprefix("https://h.test"))


@pytest.mark.parametrize(
    "told", [b"http://h.test/m", b"https://h.test:444/m", b"//other.test/m", b"https://h.test.evil/m"]
)
def test_messages_never_go_to_another_server(told: bytes):
    with pytest.raises(ConnectFailed, match="another server") as failed:
        message_url(HERE, told)

    assert not failed.value.sent


@pytest.mark.parametrize(
    "told", [b"", b"\r\n", b"a b", b"/\xc3\xa4", b"data:,x", b"https://me:pw@h.test/m", b"/" * 5000]
)
def test_what_is_no_plain_url_is_no_place_for_messages(told: bytes):
    with pytest.raises(ConnectFailed, match="not a URL"):
        message_url(HERE, told)
