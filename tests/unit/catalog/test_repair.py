"""Sloppy definitions put right."""

from typing import Any

import pytest

from bascule.catalog.repair import mend, takes_objects

TIDY: dict[str, Any] = {
    "name": "read",
    "title": "Read",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "title": "Read", "vendor": "x"},
}


def test_a_tidy_definition_is_taken_as_it_is():
    mended = mend(TIDY)

    assert mended.input_schema is TIDY["inputSchema"]
    assert mended.output_schema is TIDY["outputSchema"]
    assert mended.annotations is TIDY["annotations"]
    assert (mended.title, mended.description, mended.notes, mended.problem) == ("Read", "Reads.", (), "")


@pytest.mark.parametrize("given", [None, [], "x", True])
def test_without_an_input_schema_any_arguments_are_passed_on_and_that_is_told(given: Any):
    mended = mend({"name": "x", "inputSchema": given})

    assert mended.input_schema == {"type": "object"}
    assert mended.notes == ("it has no input schema; any arguments are passed on",)


@pytest.mark.parametrize("name", ["input_schema", "parameters"])
def test_an_input_schema_under_another_name_still_counts(name: str):
    schema = {"type": "object", "required": ["a"]}
    mended = mend({"name": "x", name: schema})

    assert mended.input_schema is schema
    assert name in mended.notes[0]


def test_an_output_schema_under_another_name_still_counts():
    assert mend({**TIDY, "outputSchema": None, "output_schema": {"type": "object"}}).output_schema == {"type": "object"}


@pytest.mark.parametrize("schema", [{}, {"type": None}, {"properties": {}}])
def test_an_input_schema_without_a_type_is_for_an_object(schema: dict[str, Any]):
    mended = mend({"name": "x", "inputSchema": schema})

    assert mended.input_schema["type"] == "object"
    assert "no type" in mended.notes[-1]


def test_an_output_schema_with_properties_and_no_type_is_for_an_object():
    mended = mend({**TIDY, "outputSchema": {"properties": {"a": {}}}})

    assert mended.output_schema == {"type": "object", "properties": {"a": {}}}
    assert "output schema" in mended.notes[0]


@pytest.mark.parametrize("schema", [{}, {"$ref": "#/$defs/a", "properties": {}}, {"anyOf": [{}], "properties": {}}])
def test_an_output_schema_that_may_be_for_anything_stays_so(schema: dict[str, Any]):
    assert mend({**TIDY, "outputSchema": schema}).output_schema is schema


def test_an_output_schema_that_is_none_is_ignored():
    mended = mend({**TIDY, "outputSchema": "x"})

    assert mended.output_schema is None
    assert "ignored" in mended.notes[0]


@pytest.mark.parametrize("which", ["input", "output"])
def test_notes_and_problems_say_in_which_schema(which: str):
    sloppy = mend({**TIDY, f"{which}Schema": {"type": "Object"}})
    broken = mend({**TIDY, f"{which}Schema": {"type": "object", "properties": 7}})

    assert sloppy.notes[0].startswith(f"in its {which} schema, ")
    assert broken.problem == f"its {which} schema cannot be used: `properties` is not an object but 7"


@pytest.mark.parametrize("name", ["title", "description"])
@pytest.mark.parametrize("value", [7, ["x"], {}])
def test_a_text_that_is_none_is_left_out(name: str, value: Any):
    mended = mend({**TIDY, name: value})

    assert not getattr(mended, name)
    assert mended.notes == (f"its {name} is not text, and is left out",)


def test_a_missing_text_is_no_news():
    assert mend({**TIDY, "title": None, "description": None}).notes == ()


def test_annotations_that_are_none_are_left_out():
    assert mend({**TIDY, "annotations": [1]}).annotations == {}
    assert mend({**TIDY, "annotations": None}).notes == ()


def test_hints_are_read_where_they_can_be_and_left_out_where_not():
    given = {"readOnlyHint": "True", "destructiveHint": "maybe", "idempotentHint": None, "title": 7, "vendor": [1]}
    mended = mend({**TIDY, "annotations": given})

    assert mended.annotations == {"vendor": [1], "readOnlyHint": True}
    assert len(mended.notes) == 4


@pytest.mark.parametrize(
    ("kind", "takes"), [("object", True), (["null", "object"], True), ("string", False), (7, False)]
)
def test_only_some_types_take_objects(kind: Any, takes: bool):
    assert takes_objects({"type": kind}) is takes
