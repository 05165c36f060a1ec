"""The drafts of JSON Schema."""

import pytest

from bascule.catalog.schema.drafts import (
    DRAFT7,
    DRAFT201909,
    DRAFT202012,
    OWN_URI,
    documents,
    draft_named,
    is_own_uri,
    of_draft,
    unsaid_words,
)

VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"


@pytest.mark.parametrize(
    ("uri", "draft"),
    [
        *((uri, draft) for draft, uri in OWN_URI.items()),
        ("http://json-schema.org/draft-04/schema#", DRAFT7),
        ("http://json-schema.org/draft-06/schema#", DRAFT7),
        ("https://example.test/rules", DRAFT202012),
    ],
)
def test_a_draft_is_known_by_its_name(uri: str, draft: str):
    assert draft_named(uri) == draft


def test_rules_that_somebody_made_are_not_a_draft():
    assert all(map(is_own_uri, OWN_URI.values()))
    assert not is_own_uri("https://example.test/draft/2020-12/schema")


@pytest.mark.parametrize(("draft", "count"), [(DRAFT7, 1), (DRAFT201909, 7), (DRAFT202012, 8)])
def test_the_documents_of_a_draft_are_at_hand(draft: str, count: int):
    found = documents(draft)

    assert len(found) == count
    for uri, document in found.items():
        assert document["$id"].removesuffix("#") == uri
        assert of_draft(uri, draft)


def test_no_other_document_is_of_a_draft():
    assert not of_draft(OWN_URI[DRAFT7], DRAFT202012)
    assert not of_draft("https://json-schema.org/draft/2020-12/meta/evil", DRAFT202012)


def test_words_of_vocabularies_that_are_not_named_say_nothing():
    words = unsaid_words({f"{VOCABULARY}core": True, f"{VOCABULARY}applicator": True}, DRAFT202012)

    assert isinstance(words, frozenset)
    assert {"minimum", "required", "unevaluatedItems"} <= words
    assert not {"properties", "anyOf", "$ref"} & words
    assert (
        unsaid_words(
            {f"{VOCABULARY}{name}": False for name in ("applicator", "unevaluated", "validation")}, DRAFT202012
        )
        == set()
    )


@pytest.mark.parametrize("uri", ["https://example.test/vocab", f"{VOCABULARY}format-assertion"])
def test_a_vocabulary_that_is_not_known_is_refused_if_it_is_needed(uri: str):
    assert "not known" in unsaid_words({uri: True}, DRAFT202012)
    assert isinstance(unsaid_words({uri: False}, DRAFT202012), frozenset)
