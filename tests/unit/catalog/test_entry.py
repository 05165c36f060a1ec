"""Catalogued tools."""

from typing import Any

import pytest

from bascule.catalog.digest import tool_digest
from bascule.catalog.entry import Entry, make_entry
from bascule.catalog.judgement import Judgement
from bascule.core.permission import UNDECLARED, Permission
from bascule.core.tool import ToolKey, ToolStatus

KEY = ToolKey("files", "read")


def entry_of(*, exposed: bool = True, **definition: Any) -> Entry:
    made = {"name": "read", "inputSchema": {"type": "object"}, **definition}
    return make_entry(made, KEY, "files_read", lambda _definition, _digest: Judgement(exposed))


def test_a_spec_says_what_the_server_said():
    definition: dict[str, Any] = {
        "name": "read",
        "title": "Read",
        "description": "Reads a file.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    spec = make_entry(definition, KEY, "files_read").spec

    assert (spec.name, spec.key, spec.title, spec.description) == ("files_read", KEY, "Read", "Reads a file.")
    assert spec.input_schema is definition["inputSchema"]
    assert spec.output_schema is definition["outputSchema"]
    assert spec.annotations is definition["annotations"]
    assert spec.digest == tool_digest(definition)
    assert (spec.status, spec.problem) == (ToolStatus.EXPOSED, "")


def test_what_a_server_says_of_its_permissions_counts_for_nothing():
    hints = {"readOnlyHint": True, "openWorldHint": False}

    assert entry_of(annotations=hints, _meta={"dev.bascule/permissions": ["read"]}).spec.permissions == UNDECLARED


@pytest.mark.parametrize("field", ["title", "description", "annotations"])
@pytest.mark.parametrize("value", [None, 7, ["x"]])
def test_fields_of_the_wrong_kind_are_left_out(field: str, value: Any):
    entry = entry_of(**{field: value})

    assert entry.spec.status is ToolStatus.EXPOSED
    assert not getattr(entry.spec, field)


@pytest.mark.parametrize("schema", [None, [], "object", True])
def test_a_missing_input_schema_takes_any_object(schema: Any):
    entry = entry_of(inputSchema=schema)

    assert entry.spec.input_schema == {"type": "object"}
    assert "no input schema" in entry.spec.notes[0]
    assert entry.arguments is not None
    assert entry.arguments.is_valid({"anything": 1})


def test_an_input_schema_without_a_type_is_for_an_object():
    entry = entry_of(inputSchema={"properties": {"a": {"type": "string"}}})

    assert entry.spec.input_schema == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert "no type" in entry.spec.notes[0]


@pytest.mark.parametrize("kind", ["object", ["object", "null"]])
def test_an_input_schema_that_takes_objects_will_do(kind: Any):
    assert entry_of(inputSchema={"type": kind}).spec.status is ToolStatus.EXPOSED


@pytest.mark.parametrize("kind", ["string", ["array", "null"]])
def test_an_input_schema_that_takes_no_object_makes_the_tool_unusable(kind: Any):
    entry = entry_of(inputSchema={"type": kind})

    assert entry.spec.status is ToolStatus.UNUSABLE
    assert "always an object" in entry.spec.problem


@pytest.mark.parametrize("field", ["inputSchema", "outputSchema"])
def test_a_schema_that_costs_too_much_makes_the_tool_unusable(field: str):
    costly: Any = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/x"}}}
    entry = entry_of(**{field: costly})

    assert entry.spec.status is ToolStatus.UNUSABLE
    assert "nothing outside" in entry.spec.problem
    assert entry.arguments is None


def test_a_tool_without_an_output_schema_promises_nothing():
    assert entry_of().results is None
    assert entry_of(outputSchema=None).spec.notes == ()


def test_an_output_schema_that_is_no_object_is_ignored_and_noted():
    entry = entry_of(outputSchema=["x"])

    assert entry.results is None
    assert "output schema" in entry.spec.notes[0]


@pytest.mark.parametrize(
    "meta",
    [None, {}, {"ui": None}, {"ui": {}}, {"ui": {"visibility": ["model", "app"]}}, {"ui": {"visibility": "model"}}],
)
def test_a_tool_is_for_models_unless_it_says_otherwise(meta: Any):
    assert entry_of(_meta=meta).spec.status is ToolStatus.EXPOSED


@pytest.mark.parametrize("visibility", [["app"], [], "app", None, 7])
def test_a_tool_that_is_not_for_models_is_hidden(visibility: Any):
    entry = entry_of(_meta={"ui": {"visibility": visibility}})

    assert entry.spec.status is ToolStatus.HIDDEN
    assert "user interface" in entry.spec.problem


def test_a_tool_the_operator_does_not_expose_is_hidden_even_if_it_is_unusable_too():
    entry = entry_of(exposed=False, inputSchema={"type": "string"})

    assert entry.spec.status is ToolStatus.HIDDEN
    assert entry.arguments is None


def test_arguments_that_travel_as_headers_are_known():
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    assert entry_of(inputSchema=schema).headers == {("region",): "Region"}
    assert entry_of().headers == {}


def test_a_bad_header_makes_the_tool_unusable():
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "no token"}}}
    entry = entry_of(inputSchema=schema)

    assert entry.spec.status is ToolStatus.UNUSABLE
    assert "x-mcp-header" in entry.spec.problem


def test_nothing_is_compiled_before_it_is_needed():
    """A schema that is none is found out by the first call; cataloguing thousands of tools must not wait for that."""
    assert entry_of(inputSchema={"type": "object", "patternProperties": {"(": True}}).spec.status is ToolStatus.EXPOSED


def test_what_nobody_has_approved_is_kept_back_without_a_validator():
    judgement = Judgement(unapproved="it is new")
    entry = make_entry({"name": "read"}, KEY, "files_read", lambda *_: judgement)

    assert (entry.spec.status, entry.spec.problem) == (ToolStatus.QUARANTINED, "it is new")
    assert (entry.arguments, entry.results) == (None, None)
    assert (entry.definition, entry.judgement) == ({"name": "read"}, judgement)


def test_what_is_hidden_is_hidden_whether_it_is_approved_or_not():
    entry = make_entry({"name": "read"}, KEY, "files_read", lambda *_: Judgement(exposed=False, unapproved="it is new"))

    assert entry.spec.status is ToolStatus.HIDDEN
    assert "new" not in entry.spec.problem


def test_permissions_are_those_of_the_judge_who_is_given_the_definition_and_its_digest():
    given: list[Any] = []

    def judge(*words: Any) -> Judgement:
        given.extend(words)
        return Judgement(permissions=frozenset({Permission.READ}))

    entry = make_entry({"name": "read"}, KEY, "files_read", judge)
    assert entry.spec.permissions == {Permission.READ}
    assert given == [{"name": "read"}, entry.spec.digest]


COMPOUND: dict[str, Any] = {
    "$id": "https://example.test/params",
    "type": "object",
    "properties": {"user": {"$ref": "user"}},
    "$defs": {"user": {"$id": "user", "type": "object", "properties": {"name": {"type": "string"}}}},
}


def test_a_schema_of_parts_with_uris_is_kept_as_it_came_and_shown_flat_to_who_cannot_read_it():
    entry = entry_of(inputSchema=COMPOUND, outputSchema=COMPOUND)

    assert entry.spec.status is ToolStatus.EXPOSED
    assert entry.spec.input_schema is COMPOUND
    assert entry.spec.output_schema is COMPOUND
    assert entry.spec.plain_schema["properties"] == {"user": {"$ref": "#/$defs/user"}}
    assert entry.arguments is not None
    assert entry.arguments.schema is entry.spec.plain_schema
    assert entry.arguments.is_valid({"user": {"name": "Ada"}})
    assert not entry.arguments.is_valid({"user": {"name": 7}})


def test_an_ordinary_schema_is_shown_as_it_came():
    spec = entry_of().spec

    assert spec.flat_schema is None
    assert spec.plain_schema is spec.input_schema


@pytest.mark.parametrize("which", ["input", "output"])
def test_a_schema_that_leads_out_makes_its_tool_unusable(which: str):
    outside = {**COMPOUND, "properties": {"user": {"$ref": "https://example.test/other"}}}
    spec = make_entry({"name": "read", f"{which}Schema": outside}, KEY, "files_read").spec

    assert spec.status is ToolStatus.UNUSABLE
    assert f"its {which} schema cannot be used" in spec.problem
    assert "nothing outside of it is ever fetched" in spec.problem
