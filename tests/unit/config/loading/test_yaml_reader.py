"""YAML: plain values with their lines, and nothing of YAML that could surprise."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.loading.yaml_reader import MAX_VALUES, parse_yaml
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError


def parse(text: str) -> tuple[Any, Problems]:
    problems = Problems("f.yaml")
    return parse_yaml(text, problems), problems


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -1.5", {"a": -1.5}),
        ("a: 1e3", {"a": 1000.0}),
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: ~\nb: null\nc:", {"a": None, "b": None, "c": None}),
        ("a: '5'\nb: \"true\"\nc: ''", {"a": "5", "b": "true", "c": ""}),
        ("[-y, --on, no]", ["-y", "--on", "no"]),
        ("a: on\nyes: b", {"a": "on", "yes": "b"}),
        ("a: 2026-08-31", {"a": "2026-08-31"}),
        ("a: 12:30:00", {"a": "12:30:00"}),
        ("a: 0777", {"a": 777}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 99999999999999999999", {"a": "99999999999999999999"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("1: a", {"1": "a"}),
        ("", None),
        ("# only a comment", None),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("--- {a: b}\n...\n", {"a": "b"}),
    ],
)
def test_values_mean_what_they_look_like(text: str, value: Any):
    assert parse(text) == (value, Problems("f.yaml", parse(text)[1].lines))


def test_every_value_has_its_line():
    _, problems = parse("a:\n  b: 1\n  c:\n    - x\n    - y\n")

    assert problems.lines == {(): 1, ("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0): 4, ("a", "c", 1): 5}


def test_a_doubled_key_is_a_problem_at_its_second_line():
    _, problems = parse("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")

    assert [problem.told for problem in problems.found] == [
        "f.yaml:5: b.c: stands twice, first on line 3; keep one of them"
    ]


def test_a_key_doubled_by_quoting_is_doubled():
    _, problems = parse("a: 1\n'a': 2\n")

    assert len(problems.found) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['true']",
        "a: !custom x",
        "a: !!str 5",
        "a: !env X",
        "!!map {a: b}",
        "a: ! x",
    ],
)
def test_no_tag_is_read(text: str):
    _, problems = parse(text)

    assert len(problems.found) == 1
    assert "tag" in problems.found[0].told


def test_aliases_of_aliases_do_not_explode():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert f"more than {MAX_VALUES} values" in str(refused("\n".join(lines)))


def test_an_alias_of_what_it_stands_in_is_refused():
    assert "no anchor &a" in str(refused("a: &a [*a]"))


@pytest.mark.parametrize(
    "text", ["a: *nope", "? [a, b]\n: c", "? *x\n: c", "a: [", "a: b: c", "\ta: b", "a: 'x", "a: \x01"]
)
def test_what_cannot_be_read_is_refused_at_once(text: str):
    assert refused(text).where.startswith("f.yaml")


def test_a_syntax_error_names_its_line_and_shows_no_text():
    error = refused("a: 1\nb: hunter2: x\n")

    assert error.where == "f.yaml:2"
    assert "hunter2" not in str(error) + error.evidence


def test_merge_keys_are_refused_with_a_way_out():
    assert "alias" in refused("a: &a {x: 1}\nb:\n  <<: *a\n").fix


def test_a_second_document_is_refused():
    assert refused("a: 1\n---\nb: 2\n").where == "f.yaml:2"


def test_nesting_is_bounded():
    assert "nests deeper" in str(refused("[" * 200 + "]" * 200))
    assert refused("[" * 50_000)


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(alphabet="abc:#-'\"{}[]é \n~", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(alphabet="abcé", min_size=1, max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(plain_values)
def test_what_a_writer_of_yaml_writes_is_read_back(value: Any):
    text = yaml.safe_dump(value, allow_unicode=True)

    assert parse(text)[0] == value
