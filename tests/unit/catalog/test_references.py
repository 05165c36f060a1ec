"""References inside a schema."""

from typing import Any

import pytest

from bascule.catalog.references import References, SchemaRefused

SCHEMA: dict[str, Any] = {
    "$id": "https://example.test/params",
    "properties": {"a/b": {"type": "string"}, "c~d": {"type": "null"}, "é %": {"type": "number"}},
    "prefixItems": [{"type": "boolean"}, {"const": 1}],
    "$defs": {"Node": {"$anchor": "node"}, "Old": {"$id": "#old"}, "Dynamic": {"$dynamicAnchor": "dynamic"}},
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
        ("#node", SCHEMA["$defs"]["Node"]),
        ("#old", SCHEMA["$defs"]["Old"]),
        ("#dynamic", SCHEMA["$defs"]["Dynamic"]),
        ("https://example.test/params#/$defs/Node", SCHEMA["$defs"]["Node"]),
        ("https://example.test/params", SCHEMA),
    ],
)
def test_references_into_the_schema_are_followed(reference: str, target: Any):
    assert References(SCHEMA).resolve(reference) == target


@pytest.mark.parametrize(
    "reference",
    [
        "https://evil.test/x",
        "http://127.0.0.1/x#/a",
        "other.json",
        "file:///etc/passwd",
        "https://example.test/other#/$defs/Node",
        "https://json-schema.org/draft/2020-12/schema",
        "//evil.test/x",
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


def test_all_words_that_refer_are_followed():
    place = {"$ref": "#/a", "$dynamicRef": "#/b", "$recursiveRef": "#", "$other": "#/c"}
    root: dict[str, Any] = {"a": {"const": 1}, "b": {"const": 2}}

    assert list(References(root).targets(place)) == [{"const": 1}, {"const": 2}, root]


@pytest.mark.parametrize("reference", ["", None, 7, ["#"]])
def test_what_is_no_reference_leads_nowhere(reference: Any):
    assert list(References({}).targets({"$ref": reference})) == []


def test_a_name_given_twice_is_refused():
    root: dict[str, Any] = {"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}

    with pytest.raises(SchemaRefused, match="names two"):
        References(root).resolve("#x")


def test_a_part_with_an_identity_of_its_own_is_refused_also_on_the_way():
    root: dict[str, Any] = {"$defs": {"a": {"$id": "urn:b", "$defs": {"c": {"type": "string"}}}}}

    with pytest.raises(SchemaRefused, match=r"\$id"):
        References(root).resolve("#/$defs/a")
    with pytest.raises(SchemaRefused, match=r"\$id"):
        References(root).resolve("#/$defs/a/$defs/c")


def test_the_schema_itself_may_have_an_identity():
    References(SCHEMA).refuse_own_identity(SCHEMA)
