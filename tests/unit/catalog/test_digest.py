"""Digests of tools and listings."""

import re
from typing import Any

import pytest

from bascule.catalog.digest import fingerprint_of, listing_digest, tool_digest

TOOL: dict[str, Any] = {
    "name": "read",
    "title": "Read",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number", "maximum": 1.5}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "_meta": {"vendor/colour": "red"},
}


def test_a_digest_names_its_algorithm():
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", tool_digest(TOOL))


def test_a_digest_does_not_change_with_the_program():
    assert tool_digest({"name": "a"}) == "sha256:d9d719b27480b55cd4918020e7473e716ed3569c8adafe926cf9b10b4f8ef064"


def test_the_order_of_keys_is_no_change():
    reordered = {key: TOOL[key] for key in reversed(TOOL)}
    reordered["inputSchema"] = dict(reversed(TOOL["inputSchema"].items()))

    assert tool_digest(reordered) == tool_digest(TOOL)


@pytest.mark.parametrize("field", [*TOOL, "aFieldNobodyKnows"])
def test_a_change_in_any_field_changes_the_digest(field: str):
    assert tool_digest(TOOL | {field: "changed"}) != tool_digest(TOOL)


def test_a_change_deep_inside_changes_the_digest():
    deep = TOOL | {"_meta": {"vendor/colour": "rot"}}

    assert tool_digest(deep) != tool_digest(TOOL)


def test_a_listing_is_the_same_in_any_order():
    assert listing_digest({"a": "1", "b": "2"}, "hi") == listing_digest({"b": "2", "a": "1"}, "hi")


@pytest.mark.parametrize(
    ("digests", "instructions"), [({"a": "1"}, "hi"), ({"a": "1", "b": "3"}, "hi"), ({"a": "1", "b": "2"}, "ho")]
)
def test_a_listing_changes_with_its_tools_and_its_instructions(digests: dict[str, str], instructions: str):
    assert listing_digest(digests, instructions) != listing_digest({"a": "1", "b": "2"}, "hi")


def test_equal_bytes_have_equal_fingerprints():
    assert fingerprint_of(b"a") == fingerprint_of(b"a") != fingerprint_of(b"b")
