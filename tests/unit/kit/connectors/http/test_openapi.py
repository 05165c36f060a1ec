from collections.abc import Iterator
from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import HttpSource, OpenApiConnector
from support.web_service import WebService, web_service

STRING = {"type": "string"}
DOCUMENT: dict[str, Any] = {
    "servers": [{"url": "http://evil.test"}],
    "paths": {
        "/items/{id}/of/{day}": {
            "get": {"operationId": "getItem", "parameters": [
                {"name": "id", "in": "path", "schema": STRING}, {"name": "day", "in": "path"},
                {"name": "tags", "in": "query", "schema": {"type": "array", "items": STRING}},
                {"name": "n", "in": "query", "schema": {"type": "integer", "minimum": 1}},
                {"name": "X-Tone", "in": "header"}, {"name": "Authorization", "in": "header"}]},
            "delete": {"operationId": "dropItem"},
        },
        "/items": {"post": {"operationId": "makeItem", "requestBody": {"required": True}}},
        "/{lost}": {"get": {"operationId": "lost"}},
        "/broken": {"get": {"operationId": "broken", "parameters": [{"name": "q", "in": "query", "schema": {"type": "no"}}]}},
    },
}  # fmt: skip


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as service:
        yield service


def call(
    service: WebService, name: str, given: dict[str, Any] | None = None, body: Any = None, **more: Any
) -> WebService:
    given_more: dict[str, Any] = {"allow_private": True, **more}
    source = HttpSource("api", f"{service.url}/v1", DataSensitivity.PUBLIC, **given_more)
    OpenApiConnector.call(source, DOCUMENT, name, given, body)
    return service


def test_an_operation_is_called_where_the_source_says(service: WebService):
    call(service, "getItem", {"id": "a/b c", "day": 7, "tags": ["x", "y&z"], "n": 2, "X-Tone": "low"})
    method, path, headers, _ = service.asked[0]
    assert (method, path) == ("GET", "/v1/items/a%2Fb%20c/of/7?tags=x&tags=y%26z&n=2")
    assert headers["x-tone"] == "low"


def test_only_what_the_methods_allow_is_listed_and_called(service: WebService):
    source = HttpSource("api", service.url, DataSensitivity.PUBLIC)
    assert [found.id for found in OpenApiConnector.operations(source, DOCUMENT)] == ["getItem", "lost", "broken"]
    for name in ("dropItem", "makeItem", "getItm"):
        with pytest.raises(UsageError, match="no such operation"):
            call(service, name)
    assert service.asked == []


@pytest.mark.parametrize(
    "given",
    [{}, {"id": "a"}, {"id": "a", "day": 1, "more": 1}, {"id": 7, "day": 1}, {"id": "", "day": 1}, {"id": "..", "day": 1},
     {"id": ".", "day": 1}, {"id": "../..", "day": 1}, {"id": "%2e%2e", "day": 1}, {"id": "a", "day": "..."}, {"id": "a", "day": None},
     {"id": "a", "day": {"x": 1}}, {"id": "a", "day": 1, "n": 0}, {"id": "a", "day": 1, "n": "2"}, {"id": "a", "day": 1, "tags": [1]},
     {"id": "a", "day": 1, "tags": [["x"]]}, {"id": "a", "day": 1, "Authorization": "x"}, {"id": "a", "day": 1, "X-Tone": "a\r\nHost: b"},
     {"id": "a", "day": 1, "X-Tone": "ä"}],
)  # fmt: skip
def test_what_does_not_fit_is_not_sent(service: WebService, given: dict[str, Any]):
    with pytest.raises(UsageError):
        call(service, "getItem", given)
    assert service.asked == []


def test_a_document_that_is_wrong_about_itself_sends_nothing(service: WebService):
    for name, given in (("lost", {}), ("broken", {"q": "x"})):
        with pytest.raises(UsageError):
            call(service, name, given)
    assert service.asked == []


def test_a_body_is_there_where_it_is_needed_and_nowhere_else(service: WebService):
    with pytest.raises(UsageError, match="needs a body"):
        call(service, "makeItem", methods={"POST"})
    with pytest.raises(UsageError, match="takes no body"):
        call(service, "getItem", {"id": "a", "day": True}, {"x": 1})
    assert call(service, "makeItem", {}, {"x": 1}, methods={"POST"}).asked[0][3] == b'{"x": 1}'
