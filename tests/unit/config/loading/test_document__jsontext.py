"""JSON as editors write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.loading.document import parse_json
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError


def parse(text: str) -> tuple[Any, list[str]]:
    problems = Problems("f.json")
    return parse_json(text, problems), [problem.told for problem in problems.found]


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, "b", null, true]}', {"a": [1, "b", None, True]}),
        ('{"a": 1, // one\n "b": 2 /* two\n lines */}', {"a": 1, "b": 2}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": 1, // last\n}', {"a": 1}),
        ('{"url": "https://a.test/*x*/,]"}', {"url": "https://a.test/*x*/,]"}),
        ('{"a": "\\"//\\\\"}', {"a": '"//\\'}),
        ('// first\n{"a": ",}"}', {"a": ",}"}),
    ],
)
def test_comments_and_trailing_commas_are_forgiven(text: str, value: Any):
    assert parse(text) == (value, [])


def test_a_doubled_key_is_a_problem_with_its_path():
    _, told = parse('{"a": {"b": 1, "c": [{"d": 1, "d": 2}], "b": 2}}')

    assert told == [
        "f.json: a.c[0].d: stands twice; keep one of them",
        "f.json: a.b: stands twice; keep one of them",
    ]


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": }', '{"a" 1}', '"unfinished', "{'a': 1}", "[1,,2]", "/* never ends", "{} {}"]
)
def test_what_is_not_json_is_refused(text: str):
    assert "not JSON" in str(refused(text))


def test_a_syntax_error_names_its_line_behind_comments_too_and_shows_no_text():
    error = refused('{\n/* two\nlines */ "a": "hunter2" "b"\n}')

    assert error.where == "f.json:3"
    assert "hunter2" not in str(error) + error.evidence


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": ' + "9" * 5000 + "}"])
def test_numbers_that_json_does_not_have_are_refused(text: str):
    assert "number" in str(refused(text))


@pytest.mark.parametrize("depth", [200, 100_000])
def test_nesting_is_bounded(depth: int):
    assert "nests deeper" in str(refused("[" * depth + "]" * depth))


def test_half_a_character_is_no_text():
    assert len(parse('{"a": "\\ud800"}')[1]) == 1


@pytest.mark.parametrize("text", ['"' * 99_999, "/*" * 50_000, '"\\' * 50_000, "," * 99_999])
def test_hostile_texts_are_answered(text: str):
    refused(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab/*,"\\]}\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='ab/*"', max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(values)
def test_plain_json_is_read_as_any_reader_reads_it(value: Any):
    assert parse(json.dumps(value)) == (value, [])
