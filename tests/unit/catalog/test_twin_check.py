"""Whether a twin is the same server."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.catalog.twin_check import MOST_TOLD, differences, other_words
from bascule.core.permission import Permission

INPUT: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}, "size": {"type": "integer"}}}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}}


def tool(name: str = "read", **other: Any) -> dict[str, Any]:
    return {"name": name, "description": "Reads.", "inputSchema": INPUT, "outputSchema": OUTPUT, **other}


def listed(*definitions: Any) -> ServerListing:
    pages = Pages()
    pages.add({"tools": msgspec.json.decode(msgspec.json.encode(definitions))})
    listing, _ = catalog_listing("files", "files", pages)
    return listing


def test_the_same_tools_are_the_same_server():
    assert differences(listed(tool("a"), tool("b")), listed(tool("b"), tool("a"))) == ()


def test_another_order_of_keys_is_no_difference():
    turned = {"properties": dict(reversed(INPUT["properties"].items())), "type": "object"}
    assert differences(listed(tool()), listed(tool(inputSchema=turned))) == ()


def test_other_words_are_no_difference_and_are_told():
    twin = listed(tool("a", description="Reads, without a way out."), tool("b"))
    original = listed(tool("a"), tool("b"))

    assert differences(original, twin) == ()
    assert other_words(original, twin) == ("a",)
    assert other_words(original, original) == ()


def test_a_tool_that_only_one_of_them_has_is_a_difference():
    assert differences(listed(tool("a"), tool("b")), listed(tool("b"), tool("c"))) == (
        "a: the twin does not have it",
        "c: only the twin has it",
    )


@pytest.mark.parametrize(
    ("field", "words"), [("inputSchema", "another input schema"), ("outputSchema", "another output schema")]
)
def test_another_schema_is_a_difference_and_both_are_shown(field: str, words: str):
    other: Any = {"type": "object", "properties": {"path": {"type": "integer"}}}
    (found,) = differences(listed(tool()), listed(tool(**{field: other})))

    assert found.startswith(f"read: {words}: ")
    assert '"integer"' in found.partition(" there, ")[2]


def test_a_twin_that_promises_no_results_is_another_server():
    plain = tool()
    del plain["outputSchema"]
    (found,) = differences(listed(tool()), listed(plain))

    assert found.startswith("read: another output schema")
    assert found.endswith("null at the twin")


def test_a_long_schema_is_shown_in_part():
    other = {"type": "object", "properties": {f"field{number}": {} for number in range(1000)}}
    (found,) = differences(listed(tool()), listed(tool(inputSchema=other)))

    assert len(found) < 600


def test_other_effects_are_a_difference():
    original = listed(tool())
    entry = original.entries["read"]
    spec = replace(entry.spec, permissions=frozenset({Permission.READ}))
    twin = replace(original, entries={"read": replace(entry, spec=spec)})

    assert differences(original, twin) == ("read: may connect and write there, and read at the twin",)


def test_so_many_differences_are_told_and_the_rest_is_counted():
    found = differences(listed(), listed(*(tool(f"t{number:03}") for number in range(MOST_TOLD + 7))))

    assert len(found) == MOST_TOLD + 1
    assert found[-1] == "and 7 more"
