import json
from typing import Any

import pytest

from bascule.core.errors import PathRefused, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import FileSource
from bascule.kit.connectors.http.openapi_document import MAX_DOCUMENT, operations_of
from bascule.workspace import Workspace
from support.private_data import Book

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "servers": [{"url": "http://evil.test"}],
    "paths": {
        "/items/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {"operationId": "getItem", "summary": "One item", "parameters": [{"name": "x", "in": "cookie"}, {"name": 7}]},
            "post": {"requestBody": {"required": True}, "operationId": "changeItem"},
        },
        "/plain": {"get": {"parameters": "odd"}, "trace": {}},
        "odd": {"get": {}},
        "/odder": 7,
    },
    "components": {"parameters": {"Id": {"name": "id", "in": "path", "schema": {"type": "integer", "$ref": "http://evil.test"}}}},
}  # fmt: skip


def test_operations_are_told_with_their_parameters():
    found = operations_of(DOCUMENT)
    assert list(found) == ["getItem", "changeItem", "get /plain"]
    (parameter,) = found["getItem"].parameters
    assert (parameter.name, parameter.place, parameter.required, parameter.schema) == (
        "id",
        "path",
        True,
        {"type": "integer"},
    )
    assert (found["changeItem"].method, found["changeItem"].needs_body, found["getItem"].takes_body) == (
        "POST",
        True,
        False,
    )


@pytest.mark.parametrize(
    "reference",
    ["http://evil.test/x", "other.json#/a", "#/components/parameters/Loop", "#/paths/none/x", "#/openapi/x"],
)
def test_references_lead_nowhere_but_inside(reference: str):
    document: dict[str, Any] = {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"$ref": reference}]}}}}
    document["components"] = {"parameters": {"Loop": {"$ref": "#/components/parameters/Loop"}}}
    assert operations_of(document)["get /a"].parameters == ()


def test_a_schema_keeps_only_what_takes_no_time():
    schema = {
        "type": "array",
        "items": {"type": "string", "pattern": "(a+)+$"},
        "maxItems": 2,
        "allOf": [],
        "nullable": True,
    }
    document = {"paths": {"/a": {"get": {"parameters": [{"name": "t", "in": "query", "schema": schema}]}}}}
    (parameter,) = operations_of(document)["get /a"].parameters
    assert parameter.schema == {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 2}


def test_a_file_of_the_workspace_is_read_as_json_or_yaml_and_told(workspace: Workspace, book: Book):
    workspace.write_text("a.json", json.dumps(DOCUMENT))
    workspace.write_text("a.yaml", "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      operationId: one\n")
    assert "getItem" in operations_of("a.json")
    assert list(operations_of(FileSource("api", "a.yaml", DataSensitivity.INTERNAL))) == ["one"]
    assert book.names == ["api"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"paths": 7}',
        "a: &a [*a]",
        "\ud800",
        "[" * 100000,
        '{"a":' * 100000,
        "paths:\n\t- x",
        "a: !!python/object:os.system x",
    ],
)
def test_what_is_no_document_is_refused(workspace: Workspace, text: str):
    workspace.write_bytes("a.json", text.encode(errors="surrogatepass"))
    with pytest.raises(UsageError):
        operations_of("a.json")


def test_documents_have_a_size_and_stay_in_the_workspace(workspace: Workspace):
    workspace.write_bytes("a.json", b" " * (MAX_DOCUMENT + 1))
    with pytest.raises(UsageError, match="too large"):
        operations_of("a.json")
    with pytest.raises(PathRefused):
        operations_of("../a.json")


def test_what_is_doubled_or_without_end_is_refused():
    twice = {"get": {"operationId": "x"}, "post": {"operationId": "x"}}
    with pytest.raises(UsageError, match="same id"):
        operations_of({"paths": {"/a": twice}})
    with pytest.raises(UsageError, match="more than"):
        operations_of({"paths": {f"/{n}": {"get": {}} for n in range(2001)}})
