"""Drafts of JSON Schema that are supported: their names, vocabularies, and the documents that define them."""

from functools import cache

from bascule.core.json_types import JsonObject, as_object

DRAFT7 = "Draft7Validator"
DRAFT201909 = "Draft201909Validator"
DRAFT202012 = "Draft202012Validator"
"""By the names that the library's validators have."""

OWN_URI = {
    DRAFT7: "http://json-schema.org/draft-07/schema",
    DRAFT201909: "https://json-schema.org/draft/2019-09/schema",
    DRAFT202012: "https://json-schema.org/draft/2020-12/schema",
}
"""The document by which a schema says that it is written in a draft."""

_VOCABULARIES = {
    DRAFT7: (),
    DRAFT201909: ("core", "applicator", "validation", "meta-data", "format", "content"),
    DRAFT202012: ("core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content"),
}
"""The parts that a draft's own document refers to, each a document too."""

_OF_APPLICATOR = frozenset(
    {"prefixItems", "items", "additionalItems", "contains", "properties", "patternProperties", "additionalProperties"}
    | {"propertyNames", "dependentSchemas", "if", "then", "else", "allOf", "anyOf", "oneOf", "not"}
)
_OF_VALIDATION = frozenset(
    {"type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}
    | {"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"}
    | {"maxProperties", "minProperties", "required", "dependentRequired"}
)
_OF_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})

_WORDS = {
    DRAFT201909: {"applicator": _OF_APPLICATOR | _OF_UNEVALUATED, "validation": _OF_VALIDATION},
    DRAFT202012: {"applicator": _OF_APPLICATOR, "unevaluated": _OF_UNEVALUATED, "validation": _OF_VALIDATION},
}
"""The words of each vocabulary that can refuse a value."""


def draft_named(uri: str) -> str:
    """The draft that a `$schema` names. What we do not know is 2020-12."""
    if any(f"draft-0{number}" in uri for number in (4, 6, 7)):
        return DRAFT7
    return DRAFT201909 if "2019-09" in uri else DRAFT202012


def is_own_uri(uri: str) -> bool:
    """Whether a `$schema` names a draft itself, and not rules that somebody made of one."""
    return "//json-schema.org/" in uri


def of_draft(uri: str, draft: str) -> bool:
    """Whether a document is one of those that define a draft."""
    return uri in _own_documents(draft)


@cache
def documents(draft: str) -> dict[str, JsonObject]:
    """The documents that define a draft, by their URIs. The library brings them along: nothing is fetched."""
    import jsonschema_rs  # noqa: PLC0415 -- 20 ms, and hardly a schema refers to what defines it

    there = jsonschema_rs.Registry(
        [("urn:any", {"$ref": OWN_URI[draft]})], draft=getattr(jsonschema_rs, draft.removesuffix("Validator"))
    ).resolver("urn:any")
    return {uri: as_object(there.lookup(uri).contents) for uri in _own_documents(draft)}


def unsaid_words(vocabularies: JsonObject, draft: str) -> frozenset[str] | str:
    """The words that say nothing by rules which name these vocabularies only, or why such rules cannot be held."""
    base = OWN_URI[draft].removesuffix("schema") + "vocab/"
    for uri, needed in vocabularies.items():
        if needed and uri.removeprefix(base) not in _VOCABULARIES[draft]:
            return f"its rules need a vocabulary that is not known here: {uri[:100]!r}"
    left_out = (words for name, words in _WORDS.get(draft, {}).items() if f"{base}{name}" not in vocabularies)
    return frozenset[str]().union(*left_out)


def _own_documents(draft: str) -> tuple[str, ...]:
    own = OWN_URI[draft]
    return (own, *(f"{own.removesuffix('schema')}meta/{name}" for name in _VOCABULARIES[draft]))
