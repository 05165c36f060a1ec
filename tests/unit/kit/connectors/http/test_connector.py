from collections.abc import Iterator
from typing import Any

import pytest

from bascule.core.errors import ProtocolViolation, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import HttpConnector, HttpSource
from bascule.kit.connectors.http.connector import MAX_REDIRECTS
from support.private_data import Book
from support.web_service import WebService, web_service


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as service:
        yield service


def source(service: WebService, **more: Any) -> HttpSource:
    given: dict[str, Any] = {
        "base_url": service.url,
        "sensitivity": DataSensitivity.PUBLIC,
        "allow_private": True,
        **more,
    }
    return HttpSource("api", **given)


def test_a_service_is_asked_with_what_the_source_brings_along(service: WebService):
    service.answers["/items"] = (200, {"Content-Type": "application/json"}, b'{"a": [1]}')
    reply = HttpConnector.get(
        source(service, headers={"Authorization": "Bearer x"}), "items", {"q": "a b&c", "n": [1, 2], "on": True}
    )
    assert (reply.status, reply.json(), reply.cut) == (200, {"a": [1]}, False)
    method, path, headers, _ = service.asked[0]
    assert (method, path) == ("GET", "/items?q=a+b%26c&n=1&n=2&on=true")
    assert headers["authorization"] == "Bearer x"


def test_its_errors_are_answers_too(service: WebService):
    reply = HttpConnector.get(source(service), "none")
    assert (reply.status, reply.text) == (404, "nothing here")


def test_other_methods_need_to_be_named_by_the_source(service: WebService):
    service.answers["/items"] = (201, {}, b"")
    with pytest.raises(UsageError, match="not asked by that method"):
        HttpConnector.request(source(service), "POST", "items", body={})
    assert service.asked == []
    assert HttpConnector.request(source(service, methods={"POST"}), "POST", "items", body={"a": 1}).status == 201
    assert service.asked[0][3] == b'{"a": 1}'
    assert service.asked[0][2]["content-type"] == "application/json"


def test_a_body_that_json_cannot_hold_is_refused(service: WebService):
    for body in ({1, 2}, float("nan")):
        with pytest.raises(UsageError, match="JSON"):
            HttpConnector.request(source(service, methods={"POST"}), "POST", "items", body=body)


def test_it_is_told_before_anything_is_sent(service: WebService, book: Book):
    private = source(service, sensitivity=DataSensitivity.CONFIDENTIAL)
    HttpConnector.get(private, "/")
    assert book.names == ["api"]
    book.fails = True
    with pytest.raises(OSError, match="store is gone"):
        HttpConnector.get(private, "/")
    assert service.connections == 1


def test_redirects_are_followed_for_reading_only_and_not_for_ever(service: WebService):
    service.answers |= {
        "/a": (302, {"Location": "/b"}, b""),
        "/b": (307, {"Location": "c?x=1"}, b""),
        "/c": (200, {}, b"here"),
    }
    reply = HttpConnector.get(source(service), "a")
    assert (reply.text, reply.url) == ("here", f"{service.url}/c?x=1")
    assert HttpConnector.request(source(service, methods={"POST"}), "POST", "a").status == 302
    service.answers["/round"] = (302, {"Location": "/round"}, b"")
    with pytest.raises(ProtocolViolation, match="from one address to the next"):
        HttpConnector.get(source(service), "round")
    assert sum(path == "/round" for _, path, _, _ in service.asked) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [("text/plain; charset=iso-8859-1", b"\xe4", "ä"), ("text/plain", "ä".encode(), "ä"), ("text/plain; charset=punycode", b"a", "a"),
     ("text/plain", b"\xff", "\ufffd"), ("text/plain; charset=iso-8859-99", b"a", "a")],
)  # fmt: skip
def test_text_is_read_as_it_says(service: WebService, kind: str, body: bytes, text: str):
    service.answers["/"] = (200, {"Content-Type": kind}, body)
    assert HttpConnector.get(source(service), "/").text == text


def test_what_is_no_text_or_packed_is_not_shown(service: WebService):
    service.answers |= {"/a": (200, {}, b"a\0b"), "/b": (200, {"Content-Encoding": "gzip"}, b"x")}
    with pytest.raises(ProtocolViolation, match="no text"):
        HttpConnector.get(source(service), "a")
    with pytest.raises(ProtocolViolation, match="packed"):
        HttpConnector.get(source(service), "b")


def test_what_is_no_json_or_was_cut_is_not_taken_for_json(service: WebService):
    service.answers["/"] = (200, {}, b"[" + b"1," * 100)
    for most, words in ((1000, "[1,1"), (10, "too long")):
        with pytest.raises(ProtocolViolation, match="no JSON") as caught:
            HttpConnector.get(source(service, most_bytes=most), "/").json()
        assert words in caught.value.evidence
