import pytest

from bascule.gateway.http.headers import Head, read_head


def test_each_header_is_read_once_and_blanks_around_it_are_none_of_it():
    head = read_head(
        [
            (b"host", b"a"),
            (b"origin", b"http://b"),
            (b"authorization", b"Bearer x"),
            (b"content-type", b"application/json"),
            (b"content-length", b"7"),
            (b"accept", b"*/*"),
            (b"mcp-protocol-version", b"2026-07-28"),
            (b"mcp-method", b" tools/call\t"),
            (b"mcp-name", b"act"),
            (b"mcp-session-id", b"s"),
            (b"mcp-param-city", b" Bern "),
            (b"x-other", b"y"),
        ]
    )
    assert (head.hosts, head.origins, head.authorization, head.length) == (["a"], ["http://b"], "Bearer x", "7")
    assert (head.version, head.method, head.name, head.session) == ("2026-07-28", "tools/call", "act", "s")
    assert head.params == {"mcp-param-city": "Bern"}
    assert head.twice == ""


@pytest.mark.parametrize(
    "name", [b"mcp-name", b"mcp-method", b"mcp-protocol-version", b"mcp-param-x", b"authorization", b"content-length"]
)
@pytest.mark.parametrize("values", [(b"a", b"b"), (b"a", b"a"), (b"", b"b"), (b"a", b"")])
def test_a_header_that_must_be_one_is_told_when_it_comes_twice(name: bytes, values: tuple[bytes, ...]):
    assert read_head([(name, value) for value in values]).twice == name.decode()


def test_what_is_a_list_may_come_in_parts():
    head = read_head([(b"accept", b"application/json"), (b"accept", b"text/event-stream")])
    assert (head.twice, head.accepts()) == ("", (True, True))


def test_two_requests_share_nothing():
    one, other = read_head([(b"host", b"a")]), read_head([])
    assert (one.hosts, other.hosts) == (["a"], [])


@pytest.mark.parametrize(
    ("kind", "is_json"),
    [("application/json", True), ("Application/JSON; charset=utf-8", True), ("text/plain", False), ("", False)],
)
def test_a_body_is_json_if_its_type_says_so(kind: str, is_json: bool):
    assert Head(content_type=kind).is_json is is_json


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        ("", (False, False)),
        ("*/*", (True, True)),
        ("application/json", (True, False)),
        ("text/event-stream", (False, True)),
        ("application/*;q=0.5, text/*", (True, True)),
        ("Application/JSON, text/event-stream", (True, True)),
        ("text/html", (False, False)),
    ],
)
def test_what_a_client_takes_is_read_with_its_wildcards(accept: str, taken: tuple[bool, bool]):
    assert Head(taken=[accept]).accepts() == taken
    assert Head(taken=[accept]).accepts() == taken


def test_a_trace_is_read_and_of_two_parents_neither_is_believed():
    head = read_head([(b"traceparent", b" a "), (b"tracestate", b"x=1"), (b"tracestate", b"y=2")])
    assert (head.traceparent, head.tracestate, head.twice) == ("a", "x=1,y=2", "")
    assert read_head([(b"traceparent", b"a"), (b"traceparent", b"a")]).traceparent == ""
    assert read_head([(b"trace-other", b"a")]) == read_head([])
