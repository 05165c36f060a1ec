"""References inside a flat schema."""

from typing import Any

import pytest

from bascule.catalog.schema.references import References, SchemaRefused, refuse_unless_flat

SCHEMA: dict[str, Any] = {
    "properties": {"a/b": {"type": "string"}, "c~d": {"type": "null"}, "é %": {"type": "number"}},
    "prefixItems": [{"type": "boolean"}, {"const": 1}],
    "$defs": {"Node": {"type": "array"}, "": {"$defs": {"": {"type": "object"}}}},
}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#", SCHEMA),
        ("#/$defs/Node", SCHEMA["$defs"]["Node"]),
        ("#/%24defs/Node", SCHEMA["$defs"]["Node"]),
        ("#/properties/a~1b", {"type": "string"}),
        ("#/properties/c~0d", {"type": "null"}),
        ("#/properties/%C3%A9%20%25", {"type": "number"}),
        ("#/prefixItems/1", {"const": 1}),
        ("#/$defs//$defs/", {"type": "object"}),
    ],
)
def test_pointers_into_the_schema_are_followed(reference: str, target: Any):
    assert References(SCHEMA).resolve(reference) == target


@pytest.mark.parametrize(
    "reference",
    [
        "https://evil.test/x",
        "http://127.0.0.1/x#/a",
        "other.json",
        "file:///etc/passwd",
        "https://json-schema.org/draft/2020-12/schema",
        "//evil.test/x",
        "",
    ],
)
def test_nothing_outside_is_followed(reference: str):
    with pytest.raises(SchemaRefused, match="nothing outside"):
        References(SCHEMA).resolve(reference)


@pytest.mark.parametrize(
    "reference", ["#/nope", "#/properties/x/y", "#/prefixItems/2", "#/prefixItems/-1", "#/prefixItems/٠", "#nope"]
)
def test_a_reference_to_nothing_is_refused(reference: str):
    with pytest.raises(SchemaRefused, match="does not have"):
        References(SCHEMA).resolve(reference)


def test_what_a_place_refers_to_is_found():
    root: dict[str, Any] = {"a": {"const": 1}}

    assert list(References(root).targets({"$ref": "#/a", "$other": "#/c"})) == [{"const": 1}]


@pytest.mark.parametrize("reference", [None, 7, ["#"]])
def test_what_is_no_reference_leads_nowhere(reference: Any):
    assert list(References({}).targets({"$ref": reference})) == []


@pytest.mark.parametrize("word", ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"])
def test_what_changes_the_meaning_of_references_is_refused(word: str):
    with pytest.raises(SchemaRefused, match="not made flat"):
        refuse_unless_flat({"type": "object", word: "x"})

    refuse_unless_flat({"properties": {word: {"type": "string"}}})
