"""Parts of a schema with a URI of their own, and what references in them mean."""

from typing import Any

import pytest

from bascule.catalog.schema.drafts import DRAFT7, DRAFT201909, DRAFT202012
from bascule.catalog.schema.references import SchemaRefused
from bascule.catalog.schema.resources import MAX_CHAPTERS, MAX_CONTESTED, MAX_READ, MAX_URI, Chapter, Chapters

Schema = dict[str, Any]

SCHEMA: Schema = {
    "$id": "https://example.test/root/main.json",
    "properties": {
        "near": {"$id": "near.json", "$anchor": "here", "$defs": {"deep": {"$id": "deeper/", "const": "deep"}}},
        "far": {"$id": "urn:example:far", "$defs": {"x": {"$anchor": "here", "const": "far"}}},
        "up": {"$id": "/up", "items": {"$id": "beside", "const": "beside"}},
    },
    "$defs": {"plain": {"$anchor": "here", "const": "plain"}, "old": {"$id": "#old", "const": "old"}},
    "enum": [{"$id": "https://example.test/value"}],
    "x-other": {"y": {"$id": "https://example.test/unknown", "const": "unknown"}},
}
ROOT = "https://example.test/root/"


def looked_up(reference: str, base: str = "main.json", schema: Schema = SCHEMA) -> Any:
    chapters = Chapters(schema)
    start = chapters.target(f"{ROOT}{base}" if ":" not in base else base, chapters.first).chapter
    return chapters.target(reference, start).place


@pytest.mark.parametrize(
    ("base", "reference", "target"),
    [
        ("main.json", "#", SCHEMA),
        ("main.json", "", SCHEMA),
        ("main.json", "#here", SCHEMA["$defs"]["plain"]),
        ("main.json", "#old", SCHEMA["$defs"]["old"]),
        ("main.json", "near.json", SCHEMA["properties"]["near"]),
        ("main.json", "near.json#here", SCHEMA["properties"]["near"]),
        ("main.json", "deeper/", SCHEMA["properties"]["near"]["$defs"]["deep"]),
        ("main.json", "near.json#/$defs/deep", SCHEMA["properties"]["near"]["$defs"]["deep"]),
        ("main.json", "urn:example:far#here", SCHEMA["properties"]["far"]["$defs"]["x"]),
        ("main.json", "../beside", SCHEMA["properties"]["up"]["items"]),
        ("near.json", "#/$defs/deep", SCHEMA["properties"]["near"]["$defs"]["deep"]),
        ("near.json", "main.json#/$defs/plain", SCHEMA["$defs"]["plain"]),
        ("urn:example:far", "#here", SCHEMA["properties"]["far"]["$defs"]["x"]),
        ("urn:example:far", "#/$defs/x", SCHEMA["properties"]["far"]["$defs"]["x"]),
        ("main.json", "#/x-other/y", SCHEMA["x-other"]["y"]),
    ],
)
def test_a_reference_means_what_its_base_makes_of_it(base: str, reference: str, target: Any):
    assert looked_up(reference, base) is target


@pytest.mark.parametrize(
    "reference", ["https://example.test/value", "https://example.test/unknown", "other.json", "urn:example:far2"]
)
def test_what_is_no_chapter_of_the_document_is_outside_of_it(reference: str):
    with pytest.raises(SchemaRefused, match="nothing outside"):
        looked_up(reference)


@pytest.mark.parametrize("reference", ["near.json#old", "urn:example:far#/$defs/deep", "#/properties/none"])
def test_names_of_one_chapter_are_not_those_of_another(reference: str):
    with pytest.raises(SchemaRefused, match="does not have"):
        looked_up(reference)


def entered(chapters: Chapters, place: Any) -> Chapter:
    return chapters.entered(place, chapters.first)


def test_a_place_is_in_the_chapter_around_it_or_begins_one():
    chapters = Chapters(SCHEMA)

    assert entered(chapters, SCHEMA["$defs"]["plain"]) is chapters.first
    assert entered(chapters, SCHEMA["properties"]["near"]).uri == f"{ROOT}near.json"
    assert entered(chapters, SCHEMA["$defs"]["old"]) is chapters.first


def test_an_identity_where_no_schema_stands_is_not_entered():
    with pytest.raises(SchemaRefused, match="no schema is expected"):
        entered(Chapters(SCHEMA), SCHEMA["x-other"]["y"])


def test_one_that_only_says_that_it_is_another_is_not_entered():
    schema = {"$defs": {"a": {"$id": "urn:a"}}, "x-other": {"$id": "urn:a", "const": 1}}

    with pytest.raises(SchemaRefused, match="no schema is expected"):
        entered(Chapters(schema), schema["x-other"])


def test_two_parts_with_one_identity_are_refused():
    schema = {"$defs": {"a": {"$id": "urn:a", "const": 1}, "b": {"$id": "urn:a", "const": True}}}

    with pytest.raises(SchemaRefused, match="are not the same"):
        Chapters(schema)


def test_one_part_may_stand_twice_word_for_word():
    schema = {"$defs": {n: {"$id": "urn:a", "$defs": {"x": {"$anchor": "x"}}} for n in "ab"}}
    chapters = Chapters(schema)

    assert chapters.target("urn:a#x", chapters.first).place is not None
    assert entered(chapters, schema["$defs"]["a"]) is entered(chapters, schema["$defs"]["b"])


def test_a_name_given_twice_is_refused_if_it_is_used():
    chapters = Chapters({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}, "c": {"$anchor": "y"}}})

    assert chapters.target("#y", chapters.first)
    with pytest.raises(SchemaRefused, match="names two"):
        chapters.target("#x", chapters.first)


def test_up_to_draft_7_nothing_counts_beside_a_reference():
    part = {"$id": "urn:a", "$ref": "#/definitions/b"}
    old = Chapters({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": part}})
    new = Chapters({"$defs": {"a": part}})

    assert entered(old, part) is old.first
    assert entered(new, part) is not new.first


@pytest.mark.parametrize(
    ("schema", "draft"),
    [
        ({}, DRAFT202012),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, DRAFT7),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema"}, DRAFT201909),
        ({"properties": {"a": {"items": [{}]}}}, DRAFT7),
        ({"properties": {"a": {"enum": {"items": [{}]}}}}, DRAFT202012),
    ],
)
def test_the_draft_is_the_one_it_names_or_the_one_it_is_written_like(schema: Schema, draft: str):
    assert Chapters(schema).draft == draft


def test_a_dynamic_name_is_contested_if_two_chapters_have_it():
    schema: Schema = {
        "$dynamicAnchor": "both",
        "$defs": {
            "a": {"$id": "urn:a", "$dynamicAnchor": "both", "$defs": {"c": {"$dynamicAnchor": "one"}}},
            "b": {"$dynamicAnchor": "one too"},
        },
    }
    chapters = Chapters(schema)

    assert chapters.contested == {"both"}
    assert chapters.dynamic_name("#both", chapters.target("#both", chapters.first)) == "both"
    assert chapters.dynamic_name("#/$defs/a", chapters.target("#/$defs/a", chapters.first)) is None
    assert chapters.by_dynamic_name("both", "urn:a").place is schema["$defs"]["a"]
    assert Chapters({"$schema": "https://json-schema.org/draft/2019-09/schema", **schema}).contested == set()


def test_the_recursive_name_is_of_2019_09():
    schema = {"$recursiveAnchor": True, "$defs": {"a": {"$id": "urn:a", "$recursiveAnchor": True}}}
    chapters = Chapters({"$schema": "https://json-schema.org/draft/2019-09/schema", **schema})

    assert len(chapters.contested) == 1
    assert chapters.recursive_name(chapters.first) is not None
    assert Chapters(schema).contested == set()


def test_the_documents_of_the_draft_are_there_for_who_refers_to_them():
    uri = "https://json-schema.org/draft/2020-12/schema"

    assert looked_up(uri, "main.json", {"$id": f"{ROOT}main.json", "$ref": uri})["$id"] == uri
    with pytest.raises(SchemaRefused, match="nothing outside"):
        looked_up(uri)


RULES = "https://example.test/rules"
VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"


def ruled(vocabularies: Any, rules: str = RULES) -> Chapters:
    return Chapters({"$schema": rules, "$defs": {"rules": {"$id": RULES, "$vocabulary": vocabularies}}})


def test_words_that_the_rules_do_not_know_say_nothing():
    chapters = ruled({f"{VOCABULARY}applicator": True})

    assert "minimum" in chapters.unsaid({}, chapters.first)
    assert "properties" not in chapters.unsaid({}, chapters.first)


@pytest.mark.parametrize(
    ("vocabularies", "rules"), [({}, "https://example.test/elsewhere"), (None, RULES), ([1], RULES)]
)
def test_all_words_count_by_rules_that_are_elsewhere_or_name_no_vocabulary(vocabularies: Any, rules: str):
    chapters = ruled(vocabularies, rules)

    assert chapters.unsaid({}, chapters.first) == set()


def test_rules_that_cannot_be_held_are_refused():
    chapters = ruled({"https://example.test/vocabulary": True})

    with pytest.raises(SchemaRefused, match="not known"):
        chapters.unsaid({}, chapters.first)


def test_a_part_in_another_draft_is_refused():
    chapters = Chapters({})

    with pytest.raises(SchemaRefused, match="another draft"):
        chapters.unsaid({"$schema": "http://json-schema.org/draft-07/schema#"}, chapters.first)
    assert chapters.unsaid({"$schema": "https://json-schema.org/draft/2020-12/schema"}, chapters.first) == set()


HOSTILE: dict[str, tuple[Schema, str]] = {
    "a fragment": ({"$id": "urn:a#b"}, "no URI"),
    "no URI": ({"$id": "a b"}, "no URI"),
    "a long URI": ({"$id": f"urn:{'a' * MAX_URI}"}, "characters"),
    "a URI that grows": (
        {"$id": "http://a/", "not": {"$id": f"{'b' * (MAX_URI - 20)}/", "not": {"$id": "c" * 20}}},
        "characters",
    ),
    "many parts": ({"$defs": {str(n): {"$id": f"urn:{n}"} for n in range(MAX_CHAPTERS)}}, "parts with an"),
    "many places": ({"$defs": {str(n): {} for n in range(MAX_READ)}}, "places"),
    "many names": (
        {
            "$defs": {
                uri: {"$id": uri, "$defs": {str(n): {"$dynamicAnchor": f"n{n}"} for n in range(MAX_CONTESTED + 1)}}
                for uri in ("urn:a", "urn:b")
            }
        },
        "dynamic names",
    ),
}


@pytest.mark.parametrize(("schema", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_document_is_refused_with_its_reason(schema: Schema, reason: str):
    with pytest.raises(SchemaRefused, match=reason):
        Chapters(schema)
