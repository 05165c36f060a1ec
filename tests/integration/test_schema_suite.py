"""The official test suite of JSON Schema, drafts 2020-12, 2019-09 and 7: what validates arguments agrees with all of it, and
what is a dataclass takes no value that its schema refuses, or says that it might."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from bascule import TypedTool, typed_tool
from bascule.catalog.schema.validator import Validator, compile_schema, validator_of
from bascule.core.errors import BasculeError
from bascule.core.tool import ToolKey, ToolSpec
from support.schema_suite import DRAFTS, Group, groups
from support.schema_suite_refused import OUTSIDE
from support.typed_values import equal, takes

pytestmark = pytest.mark.long

REFUSED = {f"{place}: {title}" for place, titles in OUTSIDE.items() for title in titles}

STRICTER = {
    f"{draft}/vocabulary: schema that uses custom metaschema with with no validation vocabulary"
    for draft in ("draft2020-12", "draft2019-09")
}
"""They name rules of their own, by which `minimum` says nothing. Those are elsewhere and not fetched, so the draft's hold."""


@cache
def every_group() -> tuple[Group, ...]:
    return tuple(groups())


def of(draft: str) -> list[Group]:
    return [group for group in every_group() if group.draft == draft]


def whole(group: Group) -> dict[str, Any]:
    """The schema as it is, or with the documents that it cannot do without."""
    return group.bundled if group.name in REFUSED | STRICTER else group.document


def validator_or_none(schema: dict[str, Any]) -> Validator | None:
    try:
        return compile_schema(schema)
    except BasculeError:
        return None


def typed_result(schema: dict[str, Any]) -> TypedTool:
    spec = ToolSpec("suite_group", ToolKey("suite", "group"), "", output_schema=schema)
    return typed_tool(spec)


def typed_params(schema: dict[str, Any]) -> TypedTool:
    return typed_tool(ToolSpec("suite_group", ToolKey("suite", "group"), "", input_schema=schema))


def as_property(group: Group) -> dict[str, Any]:
    """A tool's arguments, one of which is what the group is about."""
    schema = whole(group) if isinstance(group.schema, dict) else group.schema
    return {
        "$schema": DRAFTS[group.draft],
        "type": "object",
        "properties": {"value": moved(schema)},
        "required": ["value"],
        "additionalProperties": False,
    }


def moved(schema: Any) -> Any:
    """The same, one level further down."""
    if isinstance(schema, list):
        return [moved(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$id" in schema and not str(schema["$id"]).startswith("#"):
        # What it refers to is inside of it, wherever it stands.
        return schema
    inner = {key: part if key == "enum" else moved(part) for key, part in schema.items() if key != "$schema"}
    for word in ("$ref", "$dynamicRef", "$recursiveRef"):
        reference = inner.get(word)
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            inner.pop(word)
            inner["$ref"] = f"#/properties/value{reference[1:]}"
    return inner


def loads(typed: TypedTool, value: Any) -> tuple[bool, Any]:
    """Whether a value is taken, and what is given back of it."""
    try:
        return True, typed.dump_result(typed.load_result(value))
    except BasculeError:
        return False, None


def test_the_suite_is_all_there():
    counted = Counter(group.draft for group in every_group())

    assert counted.keys() == DRAFTS.keys()
    assert min(counted.values()) > 250
    assert sum(len(group.cases) for group in every_group()) > 3300


def test_just_the_schemas_that_refer_to_other_documents_are_refused():
    found = {group.name: validator_of(group.document) for group in every_group()}
    refused = {name: why for name, why in found.items() if isinstance(why, str)}

    assert refused.keys() == REFUSED
    assert [why for why in refused.values() if "nothing outside of it is ever fetched" not in why] == []


def test_validation_agrees_with_every_case_of_the_suite():
    disagreeing = {
        group.name
        for group in every_group()
        if group.name not in REFUSED
        for value, valid in group.cases
        if compile_schema(group.document).is_valid(value) is not valid
    }

    assert disagreeing == STRICTER


@pytest.mark.parametrize("draft", DRAFTS)
def test_with_all_other_documents_inside_of_each_schema_validation_agrees_without_exception(draft: str):
    disagreeing: list[Any] = []
    for group in of(draft):
        validator = compile_schema(group.bundled)
        disagreeing += [(group.name, value) for value, valid in group.cases if validator.is_valid(value) is not valid]

    assert disagreeing == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_type_takes_all_that_its_schema_takes_and_gives_it_back_as_it_was(draft: str):
    lost: list[Any] = []
    for group in of(draft):
        typed, validator = typed_result(whole(group)), compile_schema(whole(group))
        for value, _ in group.cases:
            if not validator.is_valid(value):
                continue
            taken, back = loads(typed, value)
            if not (taken and takes(typed.result, value) and equal(back, value)):
                lost.append((group.name, value, typed.result))

    assert lost == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_nothing_is_loaded_that_the_schema_refuses_and_an_exact_type_does_not_take_it_either(draft: str):
    slipped: list[Any] = []
    exact = Counter[bool]()
    for group in of(draft):
        typed = typed_result(whole(group))
        exact[typed.exact_result] += 1
        for value, valid in group.cases:
            if valid:
                continue
            if loads(typed, value)[0] or (typed.exact_result and takes(typed.result, value)):
                slipped.append((group.name, value, typed.result))

    assert slipped == []
    # Calling everything inexact would prove nothing.
    assert exact[True] > exact.total() / 3


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_same_holds_for_an_argument_of_a_tool(draft: str):
    wrong: list[Any] = []
    unusable: set[str] = set()
    for group in of(draft):
        schema = as_property(group)
        validator = validator_or_none(schema)
        if validator is None:
            unusable.add(group.name)
            continue
        typed = typed_params(schema)
        for value, valid in group.cases:
            arguments = {"value": value}
            fits = validator.is_valid(arguments)
            try:
                back = typed.dump(typed.load(arguments))
            except BasculeError:
                back = None
            agrees = takes(typed.params, arguments) is fits or (not fits and not typed.exact)
            loaded = equal(back, arguments) if fits else back is None
            if fits is not valid or not loaded or not agrees:
                wrong.append((group.name, value, typed.params.__annotations__))

    assert wrong == []
    assert unusable == set()
