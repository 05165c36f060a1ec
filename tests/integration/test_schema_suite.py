"""The official test suite of JSON Schema, drafts 2020-12 and 7: what validates arguments agrees with all of it, and what
is a dataclass takes no value that its schema refuses, or says that it might."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from bascule import TypedTool, typed_tool
from bascule.catalog.validation import Validator, compile_schema
from bascule.core.errors import BasculeError
from bascule.core.tool import ToolKey, ToolSpec
from support.schema_suite import DRAFTS, Group, groups
from support.schema_suite_refused import OUTSIDE, OWN_ID, TWO_NAMES
from support.typed_values import equal, takes

REFUSED = {
    f"{place}: {title}"
    for listed in (OUTSIDE, OWN_ID, TWO_NAMES)
    for place, titles in listed.items()
    for title in titles
}

STRICTER = {"draft2020-12/vocabulary: schema that uses custom metaschema with with no validation vocabulary"}
"""It names rules of its own, by which `minimum` says nothing. Those are elsewhere and not fetched, so the draft's hold."""


@cache
def every_group() -> tuple[Group, ...]:
    return tuple(groups())


def used() -> list[Group]:
    return [group for group in every_group() if group.name not in REFUSED]


def validator_of(schema: dict[str, Any]) -> Validator | None:
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
    schema = moved(group.schema)
    return {
        "$schema": DRAFTS[group.draft],
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }


def moved(schema: Any) -> Any:
    """The same, one level further down."""
    if isinstance(schema, list):
        return [moved(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: moved(part) for key, part in schema.items() if key != "$schema"}
    for word in ("$ref", "$dynamicRef"):
        reference = inner.get(word)
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            inner[word] = f"#/properties/value{reference[1:]}"
    return inner


def named(group: Group) -> bool:
    return isinstance(group.schema, dict) and "$id" in group.schema


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
    assert sum(len(group.cases) for group in every_group()) > 2100


def test_just_the_schemas_that_lead_out_of_themselves_are_refused():
    refused = {group.name for group in every_group() if validator_of(group.document) is None}

    assert refused == REFUSED


def test_validation_agrees_with_every_case_of_the_suite():
    disagreeing = {
        group.name
        for group in used()
        for value, valid in group.cases
        if compile_schema(group.document).is_valid(value) is not valid
    }

    assert disagreeing == STRICTER


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_type_takes_all_that_its_schema_takes_and_gives_it_back_as_it_was(draft: str):
    lost: list[Any] = []
    for group in (group for group in used() if group.draft == draft):
        typed, validator = typed_result(group.document), compile_schema(group.document)
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
    for group in (group for group in used() if group.draft == draft):
        typed = typed_result(group.document)
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
    unmoved: set[str] = set()
    for group in (group for group in used() if group.draft == draft):
        schema = as_property(group)
        validator = validator_of(schema)
        if validator is None:
            unmoved.add(group.name)
            continue
        typed = typed_params(schema)
        for value, _ in group.cases:
            arguments = {"value": value}
            fits = validator.is_valid(arguments)
            try:
                back = typed.dump(typed.load(arguments))
            except BasculeError:
                back = None
            agrees = takes(typed.params, arguments) is fits or (not fits and not typed.exact)
            if (back is not None) is not fits or (fits and not equal(back, arguments)) or not agrees:
                wrong.append((group.name, value, typed.params.__annotations__))

    assert wrong == []
    # A document with a name of its own must be on top; the tests above have it there.
    assert unmoved == {group.name for group in used() if group.draft == draft and named(group)}
