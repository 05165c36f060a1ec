"""Checking values against schemas, in bounded time."""

import random
import threading
from copy import deepcopy
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema import validator as validation
from bascule.catalog.schema.cost import Bound, bound_of
from bascule.catalog.schema.validator import MAX_TURNS, Validator, compile_schema, draft_of, validator_of
from bascule.core.errors import ProtocolViolation
from bascule.wire.json_limits import MAX_DEPTH

Schema = dict[str, Any]

TREE: Schema = {
    "$ref": "#/$defs/Node",
    "$defs": {"Node": {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/Node"}}}},
}


def accepts(schema: Schema, value: Any) -> bool:
    return compile_schema(schema).is_valid(value)


def chain(length: int, end: Any = None, word: str = "next") -> Any:
    value = end
    for _ in range(length):
        value = {word: value}
    return value


def letters(count: int) -> str:
    return "".join(random.Random(7).choices("ab", k=count))


def test_a_value_fits_or_does_not():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    assert accepts(schema, {"a": 1})
    assert not accepts(schema, {"a": "1"})
    assert not accepts(schema, {})


@pytest.mark.parametrize(
    ("named", "draft"),
    [
        (None, "Draft202012Validator"),
        ("https://json-schema.org/draft/2020-12/schema", "Draft202012Validator"),
        ("http://json-schema.org/draft-07/schema#", "Draft7Validator"),
        ("http://json-schema.org/draft-06/schema#", "Draft7Validator"),
        ("http://json-schema.org/draft-04/schema#", "Draft7Validator"),
        ("https://json-schema.org/draft/2019-09/schema", "Draft201909Validator"),
        ("https://example.test/my-own", "Draft202012Validator"),
        (7, "Draft202012Validator"),
    ],
)
def test_the_draft_is_what_the_schema_says_or_the_newest(named: Any, draft: str):
    schema = {"$schema": named} if named is not None else {}
    bound = bound_of(schema)
    assert isinstance(bound, Bound)
    assert draft_of(schema, bound) == draft


def test_a_tuple_of_the_old_drafts_is_understood_where_no_draft_is_named():
    schema = {"type": "object", "properties": {"pair": {"items": [{"type": "string"}, {"type": "number"}]}}}

    assert accepts(schema, {"pair": ["a", 1]})
    assert not accepts(schema, {"pair": [1, "a"]})


def test_a_tuple_of_2020_12_is_understood():
    assert not accepts({"prefixItems": [{"type": "string"}]}, [1])


def test_what_only_looks_like_an_old_tuple_does_not_change_the_draft():
    assert not accepts({"examples": [{"items": [1]}], "dependentRequired": {"a": ["b"]}}, {"a": 1})


def test_an_unknown_meta_schema_is_never_looked_for():
    assert accepts({"$schema": "http://127.0.0.1:1/meta", "type": "string"}, "a")


def test_formats_are_not_asserted():
    assert accepts(
        {"format": "email", "type": "string", "$schema": "http://json-schema.org/draft-07/schema#"}, "no mail"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"type": 5},
        {"properties": []},
        {"required": "a"},
        {"minLength": -1},
        {"multipleOf": 0},
        {"pattern": "["},
        {"pattern": "(?P<"},
        {"anyOf": []},
        {"$id": "::::"},
    ],
    ids=str,
)
def test_what_is_no_schema_is_the_servers_fault(schema: Schema):
    with pytest.raises(ProtocolViolation):
        compile_schema(schema)


def test_a_schema_without_a_bound_is_refused():
    with pytest.raises(ProtocolViolation, match="nothing outside"):
        compile_schema({"$ref": "http://127.0.0.1/x"})


def test_nothing_is_ever_fetched_not_even_past_the_bound():
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/schema"
            bound = Bound(1, 0, numbers=False, options=False, recursive=False, backtracks=False, tuples=False, places=1)
            for schema in ({"$ref": url}, {"$schema": url}, {"$defs": {"a": {"$ref": url}}}, {"$id": url, "$ref": "x"}):
                try:
                    Validator(schema, bound).is_valid({})
                except ProtocolViolation:
                    continue
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


def test_a_bad_schema_shows_when_it_is_first_needed():
    schema = {"type": "strin"}
    bound = bound_of(schema)
    assert isinstance(bound, Bound)
    validator = Validator(schema, bound)

    with pytest.raises(ProtocolViolation, match="not valid JSON Schema"):
        validator.is_valid("a")


@pytest.mark.parametrize(
    "value",
    [b"bytes", {1, 2}, object(), "\ud800", {"a": object()}, 10**5000],
    ids=["bytes", "set", "object", "surrogate", "inside", "number"],
)
def test_what_is_not_json_does_not_fit(value: Any):
    assert not accepts(
        {"type": ["string", "number", "object", "array"], "additionalProperties": {"type": "string"}}, value
    )


def test_numbers_that_are_none_do_not_fit():
    assert not accepts({"type": "number"}, float("nan"))
    assert not accepts({"type": "number"}, float("inf"))
    assert accepts({"type": "number"}, Decimal("1.5"))


def test_a_value_that_contains_itself_does_not_fit():
    circle: dict[str, Any] = {}
    circle["next"] = circle
    validator = compile_schema(TREE)

    assert not validator.is_valid(circle)
    assert "nests deeper" in validator.excess(circle)


@pytest.mark.parametrize(("schema", "limit"), [({"type": "object"}, MAX_DEPTH), (TREE, MAX_TURNS)])
def test_a_value_may_nest_to_the_limit_and_no_deeper(schema: Schema, limit: int):
    validator = compile_schema(schema)

    assert validator.is_valid(chain(limit))
    assert not validator.is_valid(chain(limit + 1))
    assert validator.excess(chain(limit + 1)) == f"nests deeper than {limit} levels"


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_a_value_deep_enough_to_break_the_stack_is_never_walked(depth: int):
    assert not accepts(TREE, chain(depth))


def test_alternatives_of_a_tree_are_remembered_and_do_not_multiply_with_depth():
    """The bound relies on this. Without it, this test would take longer than the sun has left."""
    branch = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    validator = compile_schema({"$ref": "#/$defs/Node", "$defs": {"Node": {"anyOf": [branch, {**branch}]}}})

    assert not validator.is_valid(chain(MAX_TURNS, "bad"))


def test_a_value_of_many_parts_is_not_checked_against_a_schema_that_makes_much_of_each():
    schema = {"items": {"anyOf": [{"type": "object", "required": ["a"]}] * 300}}
    validator = compile_schema(schema)

    assert validator.excess([0] * 1000) == ""
    assert "too many values" in validator.excess([0] * 100_000)
    assert not compile_schema({"items": {"anyOf": [*schema["items"]["anyOf"], True]}}).is_valid([0] * 100_000)


def test_a_large_value_is_checked_against_an_ordinary_schema():
    rows = [{"id": number, "name": "x"} for number in range(30_000)]
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"]}
    validator = compile_schema({"type": "array", "items": row})

    assert validator.is_valid(rows)
    assert not validator.is_valid([*rows, {"id": "x"}])


def test_long_text_is_not_matched_against_a_pattern_that_could_take_long():
    validator = compile_schema({"pattern": "^[ab]*a[ab]{200}c$"})

    assert validator.excess(letters(5_000)) == ""
    assert "too much text" in validator.excess(letters(1_000_000))


@pytest.mark.long
def test_a_pattern_on_one_member_does_not_limit_another():
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "pattern": "^[ab]*a[ab]{200}c$|^/"}, "content": {"type": "string"}},
        "required": ["path"],
    }
    validator = compile_schema(schema)

    assert validator.is_valid({"path": "/tmp/a", "content": "x" * 2_000_000})
    assert not validator.is_valid({"path": letters(2_000_000), "content": ""})
    assert "too much text" in validator.excess({"path": letters(2_000_000)})


def test_where_members_are_not_checked_each_on_its_own_all_text_counts():
    pattern = {"type": "string", "pattern": "^[ab]*a[ab]{200}c$"}
    validator = compile_schema({"properties": {"a": {}}, "additionalProperties": pattern})

    assert "too much text" in validator.excess({"a": "x" * 1_000_000})


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        (r"^(?!\s*$).+", "a", "  "),
        (r"(a)\1", "aa", "ab"),
        (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rds", "password"),
        ("^(a+)+$", "a" * 40, "a" * 40 + "!"),
    ],
)
def test_patterns_of_every_kind_are_matched(pattern: str, fitting: str, other: str):
    validator = compile_schema({"pattern": pattern})

    assert validator.is_valid(fitting)
    assert not validator.is_valid(other)


@pytest.mark.parametrize("pattern", [r"^(?=(a+)+$)b", r"((?=a)a+)+b", r"(a*)*\1b", "(?:(?=.*b).)*c"])
def test_a_pattern_that_goes_back_gives_up_in_time(pattern: str):
    assert not accepts({"pattern": pattern}, "a" * 2_000)


def test_a_match_that_takes_too_many_tries_counts_as_none():
    validator = compile_schema({"pattern": "(?=.*z)y"})

    assert validator.is_valid("a" * 500 + "yz")
    assert validator.excess("a" * 5_000 + "yz") == ""
    assert not validator.is_valid("a" * 5_000 + "yz")


def test_many_numbers_that_hash_alike_are_not_compared_with_each_other():
    validator = compile_schema({"type": "array", "uniqueItems": True})

    assert validator.is_valid(list(range(5_000)))
    assert validator.is_valid([str(10**30 + number) for number in range(5_000)])
    assert validator.is_valid([10**30 + number for number in range(50)])
    assert "numbers" in validator.excess([10**30 + number for number in range(5_000)])


def test_numbers_of_hundreds_of_digits_are_not_compared():
    validator = compile_schema({"items": {"minimum": 5}})

    assert validator.is_valid([10**40])
    assert "numbers" in validator.excess([10**900])
    assert validator.is_valid(["9" * 2_000])


def test_many_fractions_are_not_compared_with_many_integers():
    validator = compile_schema({"items": {"anyOf": [{"enum": list(range(200))}, {"type": "number"}]}})

    assert validator.is_valid([7] * 1_000)
    assert validator.is_valid([7.5] * 10)
    assert "numbers" in validator.excess([7.5] * 1_000)


def test_many_fractions_far_from_one_are_not_compared_with_fractions():
    validator = compile_schema({"items": {"minimum": 0.5}})

    assert validator.is_valid([7.5] * 1_000)
    assert "numbers" in validator.excess([1e300] * 1_000)
    assert "numbers" in validator.excess([1e-300] * 1_000)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
def test_no_value_whatever_raises(value: Any):
    validator = compile_schema(
        {
            "additionalProperties": {"$ref": "#"},
            "items": {"$ref": "#"},
            "uniqueItems": True,
            "minimum": 0.5,
            "pattern": "^a",
        }
    )
    assert isinstance(validator.is_valid(value), bool)


def test_a_schema_is_checked_flat_and_one_that_is_flat_as_it_is():
    flat: Schema = {"type": "object"}
    by_uri: Schema = {"$id": "urn:a", "items": {"$ref": "urn:b"}, "$defs": {"b": {"$id": "urn:b", "type": "string"}}}
    same, made = validator_of(flat), validator_of(by_uri)

    assert isinstance(same, Validator)
    assert same.schema is flat
    assert isinstance(made, Validator)
    assert made.schema["items"] == {"$ref": "#/$defs/urn_b"}
    assert made.is_valid(["a"])
    assert not made.is_valid([1])


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$id": "urn:a", "$defs": {"unused": {"description": "x" * 600_000}}}, "bytes"),
        ({"$id": "urn:a", "default": object()}, "cannot be read"),
        ({"$ref": "urn:other"}, "nothing outside"),
        ({"minimum": 10**400}, "digits"),
    ],
    ids=["too large, whatever is used of it", "not JSON", "outside", "too costly"],
)
def test_a_schema_that_must_not_be_used_has_a_reason(schema: Schema, reason: str):
    assert reason in str(validator_of(schema))


def test_a_schema_that_nests_too_deep_is_refused_before_it_is_made_flat():
    schema: Schema = {"$id": "urn:a"}
    for _ in range(900):
        schema = {"not": schema}

    assert "nests deeper" in str(validator_of(schema))


def test_what_is_the_same_is_compiled_once_for_as_long_as_somebody_uses_it(monkeypatch: pytest.MonkeyPatch):
    made: list[Schema] = []
    compiled = validation.compiled

    def noted(schema: Schema, bound: Bound) -> Any:
        made.append(schema)
        return compiled(schema, bound)

    monkeypatch.setattr(validation, "compiled", noted)
    schema: Schema = {"type": "object", "properties": {"only": {"const": "here"}}}
    same, changed = deepcopy(schema), deepcopy(schema)
    first, second, third = compile_schema(schema), compile_schema(same), validator_of(changed)
    assert isinstance(third, Validator)
    assert made == [schema]
    # What was compiled for others says nothing of a schema that is another one by then.
    changed["properties"]["only"]["const"] = "there"
    assert [one.is_valid({"only": "here"}) for one in (first, second, third)] == [True, True, False]
    assert made == [schema, changed]
    del first, second
    assert compile_schema(schema).is_valid({"only": "here"})
    assert made == [schema, changed, schema]
