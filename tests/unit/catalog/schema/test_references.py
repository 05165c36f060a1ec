"""References inside a flat schema, and beside a base URI (examples of RFC 3986)."""

from typing import Any
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema.references import (
    References,
    SchemaRefused,
    is_reference,
    refuse_unless_flat,
    resolved,
    split_fragment,
)

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


BASE = "http://a/b/c/d;p?q"

ORDINARY = {
    "g:h": "g:h",
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x",
    "g;x?y": "http://a/b/c/g;x?y",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../g": "http://a/g",
}

ODD = {
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "http:g": "http:g",
}


@pytest.mark.parametrize(("reference", "uri"), (ORDINARY | ODD).items())
def test_the_examples_of_the_standard_hold(reference: str, uri: str):
    assert resolved(BASE, reference) == uri


@pytest.mark.parametrize(
    ("base", "reference", "uri"),
    [
        ("urn:example:root", "", "urn:example:root"),
        ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
        ("http://a", "b", "http://a/b"),
        ("http://a/b", "?", "http://a/b?"),
        ("json-schema:///", "item.json", "json-schema:///item.json"),
        ("json-schema:///folder/", "../../item", "json-schema:///item"),
        ("file:///folder/file.json", "//host/x", "file://host/x"),
    ],
)
def test_other_schemes_are_resolved_alike(base: str, reference: str, uri: str):
    assert resolved(base, reference) == uri


@pytest.mark.parametrize("text", [*ORDINARY, *ODD, "urn:uuid:1", "#a", "./a:b", "/a:b", "%C3%A9", "//[::1]:80/x"])
def test_a_reference_is_one(text: str):
    assert is_reference(text)


@pytest.mark.parametrize("text", ["::::", "1a:b", "a b", "é", "a\nb", "%zz", "a%", "<x>", "a\\b", "{x}", '"'])
def test_what_no_uri_is_spelled_like_is_no_reference(text: str):
    assert not is_reference(text)


def test_a_fragment_is_kept_apart():
    assert split_fragment("a/b#/c#d") == ("a/b", "/c#d")
    assert split_fragment("a/b") == ("a/b", "")
    assert resolved(BASE, "g#s") == "http://a/b/c/g"


STEPS = st.lists(st.sampled_from(["a", "b.json", "..", ".", "%C3"]), min_size=1, max_size=6).map("/".join)


@given(STEPS, STEPS)
def test_paths_are_resolved_as_python_does(base: str, reference: str):
    assert resolved(f"http://host/{base}", reference) == urljoin(f"http://host/{base}", reference)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_means_something_and_meaning_it_twice_changes_nothing(base: str, reference: str):
    # What others are relative to has itself been resolved: an empty reference leaves it as it is, dots and all.
    whole = resolved("urn:other", f"http://host/{base.partition('#')[0].partition('?')[0]}")
    once = resolved(whole, reference)

    assert resolved("urn:other", once) == once
